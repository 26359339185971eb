/**
 * Which proxies are believed. Trust is a number of hops or a list of networks; there is none by default. Whoever trusts
 * everyone lets each client choose its own key, so that is refused here.
 */
import { Kind, type SluiceError, wrong } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import { type Address, isIpv4, maskTo, parseAddress } from './address.ts';

/** Whether the address at this hop is a proxy of ours; hop 0 is the peer of the socket. */
export type Trust = (address: Address | undefined, hop: number) => boolean;

/** The longest chain of proxies anyone has. More is a way to write "everyone". */
export const MAX_HOPS = 16;

/** Undefined when nobody is trusted. */
export function trustIn(proxies: unknown, path: string): Trust | undefined {
  if (Array.isArray(proxies)) return trustInNetworks(proxies, path);
  if (proxies === true || (typeof proxies === 'number' && proxies > MAX_HOPS)) throw trustsEveryone(path, proxies);
  if (!Number.isInteger(proxies) || (proxies as number) < 0) throw invalidProxies(path, proxies);
  return proxies === 0 ? undefined : (_, hop) => hop < (proxies as number);
}

function trustInNetworks(proxies: readonly unknown[], path: string): Trust | undefined {
  const networks = proxies.map((text, index) => parseNetwork(text, `${path}[${index}]`));
  if (networks.length === 0) return undefined;
  return (address) => address !== undefined && networks.some((network) => contains(network, address));
}

interface Network {
  readonly base: Address;
  /** Of the 128 bits, also for IPv4. */
  readonly bits: number;
}

const CIDR = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i;

function parseNetwork(text: unknown, path: string): Network {
  const [, host, length] = (typeof text === 'string' && CIDR.exec(text)) || [];
  const address = host === undefined ? undefined : parseAddress(host);
  if (address === undefined) throw invalidNetwork(path, text);
  const bits = length === undefined ? 128 : Number(length) + (host!.includes(':') ? 0 : 96);
  if (bits > 128) throw invalidNetwork(path, text);
  const network = { base: maskTo(address, bits), bits };
  if (isTooWide(network, isIpv4(address))) throw trustsEveryone(path, text);
  return network;
}

const IPV4_ZERO = parseAddress('0.0.0.0')!;

/** Nobody runs proxies in more than a /8, or in more of IPv6 than the private fc00::/7. */
function isTooWide(network: Network, isOfIpv4: boolean): boolean {
  return network.bits < 7 || (network.bits < 104 && (isOfIpv4 || contains(network, IPV4_ZERO)));
}

function contains({ base, bits }: Network, address: Address): boolean {
  for (let group = 0; group * 16 < bits; group++) {
    const shift = Math.max(0, 16 - (bits - group * 16));
    if (base[group]! >> shift !== address[group]! >> shift) return false;
  }
  return true;
}

function invalidProxies(path: string, got: unknown): SluiceError {
  return invalidOption(path, 'a number of proxies, or an array of their addresses and networks', got);
}

function invalidNetwork(path: string, got: unknown): SluiceError {
  return invalidOption(path, "an address or a network such as '10.0.0.0/8' or 'fd00::/8'", got);
}

function trustsEveryone(path: string, got: unknown): SluiceError {
  return wrong(
    'SLUICE_TRUSTS_EVERYONE',
    path,
    'only your own proxies: trusting everyone lets each client choose its own key',
    got === true ? new Kind('true') : got,
  );
}
