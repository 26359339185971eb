/**
 * The client's address as a key: the right-most hop that is no proxy of ours. The walk starts at the peer of the socket,
 * which cannot be forged, and goes left only past addresses that are trusted. Whatever is no address (`unknown`,
 * `_hidden`, garbage, nothing) ends it at the last good one.
 */
import type { Mistake } from '../model/errors.ts';
import { Kind } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { type Address, formatGroup, parseAddress } from './address.ts';
import { HOP_SYNTAX, type HopSyntax } from './forwarded.ts';
import { invalidOption } from './options.ts';
import type { Key } from './request-view.ts';
import { type Trust, trustIn } from './trust.ts';

export interface ByIpOptions {
  /** How many proxies stand in front of this server, or their addresses and networks. Default: none is trusted. */
  readonly trustedProxies?: number | readonly string[] | undefined;
  /** Bits of an IPv6 address that make a client: 64 (default), or 56 or 48 where providers hand out more. */
  readonly ipv6Subnet?: number | undefined;
  /** The one header that the proxies write. Default: 'x-forwarded-for'. */
  readonly header?: keyof typeof HOP_SYNTAX | undefined;
}

export function byIp(options: ByIpOptions = {}): Key {
  checkOptionNames(options, ['trustedProxies', 'ipv6Subnet', 'header'], 'byIp');
  const { trustedProxies = 0, ipv6Subnet = 64, header = 'x-forwarded-for' } = options;
  checkSubnet(ipv6Subnet);
  checkHeader(header);
  const trust = trustIn(trustedProxies, 'byIp.trustedProxies');
  const client = trust === undefined ? ignoring(header) : trusting(trust, header);
  return (view, warn) => {
    const address = client(view, warn);
    return address && `ip:${formatGroup(address, ipv6Subnet)}`;
  };
}

type ClientOf = (...request: Parameters<Key>) => Address | undefined;

function ignoring(header: string): ClientOf {
  const mistake = untrustedHeader(header);
  return (view, warn) => {
    if (warn !== undefined && view.header(header) !== undefined) warn(mistake);
    return peerOf(view.ip);
  };
}

function trusting(trust: Trust, header: keyof typeof HOP_SYNTAX): ClientOf {
  const syntax: HopSyntax = HOP_SYNTAX[header];
  return (view) => walk(peerOf(view.ip), view.header(header) ?? '', trust, syntax);
}

function peerOf(ip: string | undefined): Address | undefined {
  return ip === undefined ? undefined : parseAddress(ip);
}

function walk(peer: Address | undefined, hops: string, trust: Trust, syntax: HopSyntax): Address | undefined {
  let address = peer;
  let end = hops.length;
  for (let hop = 0; end >= 0 && trust(address, hop); hop++) {
    const start = syntax.startOfLast(hops, end);
    const next = parseAddress(syntax.nodeOf(hops.slice(start, end)) ?? '');
    if (next === undefined) break;
    address = next;
    end = start - 1;
  }
  return address;
}

function untrustedHeader(header: string): Mistake {
  return {
    code: 'SLUICE_UNTRUSTED_FORWARDED_FOR',
    path: 'byIp.trustedProxies',
    expected: `the proxies in front of this server, since a request came with ${header}`,
    got: new Kind('none, so that everyone behind one proxy is one client'),
  };
}

function checkSubnet(bits: unknown): void {
  if (Number.isInteger(bits) && (bits as number) >= 32 && (bits as number) <= 128) return;
  throw invalidOption('byIp.ipv6Subnet', 'a whole number of bits from 32 to 128', bits);
}

function checkHeader(header: unknown): void {
  if (typeof header === 'string' && Object.hasOwn(HOP_SYNTAX, header)) return;
  throw invalidOption('byIp.header', "'x-forwarded-for' or 'forwarded'", header);
}
