/** Networks of addresses, and the addresses that keys are. */
import { type Address, isIpv4, maskTo, parseAddress } from '../http/address.ts';
import { invalidOption } from '../model/options.ts';

/** The first bits of an address, of 128; an IPv4 address is the last 32 of its own 128. */
export interface Network {
  readonly base: Address;
  readonly bits: number;
}

const CIDR = /^([\da-f:.]{2,64})(?:\/(\d{1,3}))?$/i;

export function parseNetwork(text: unknown, path: string): Network {
  const network = typeof text === 'string' ? networkOf(text) : undefined;
  if (network !== undefined) return network;
  throw invalidOption(path, "an address or a network such as '10.0.0.0/8' or '2001:db8::/32'", text);
}

function networkOf(text: string): Network | undefined {
  const [, host, length] = CIDR.exec(text) ?? [];
  const address = host === undefined ? undefined : parseAddress(host);
  if (address === undefined) return undefined;
  const bits = length === undefined ? 128 : Number(length) + (isIpv4(address) && !host!.includes(':') ? 96 : 0);
  return bits > 128 ? undefined : { base: maskTo(address, bits), bits };
}

/**
 * The address or network that a key is: `203.0.113.7`, `ip:203.0.113.7`, `ip:2001:db8:1::/56`. Only of a whole key: what stands in a part of one
 * may be the client's own word.
 */
export function networkOfKey(key: string): Network | undefined {
  if (key.length > MAX_LENGTH) return undefined;
  return networkOf(key.startsWith('ip:') ? key.slice('ip:'.length) : key);
}

const MAX_LENGTH = 64;
