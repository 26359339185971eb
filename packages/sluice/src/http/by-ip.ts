/**
 * The client's address as a key: the right-most hop that is no proxy of ours. The walk starts at the peer of the socket,
 * which cannot be forged, and goes left only past addresses that are trusted. Whatever is no address (`unknown`,
 * `_hidden`, garbage, nothing) ends it at the last good one.
 */
import { type Mistake, mistaken } from '../model/errors.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Address, formatGroup, parseAddress, plainIpv4 } from './address.ts';
import { HOP_SYNTAX, type HopSyntax } from './forwarded.ts';
import { ADDRESS, lacking } from './missing.ts';
import type { Key } from './request-view.ts';
import { type Trust, trustIn } from './trust.ts';

/** What `byIp` takes. */
export interface ByIpOptions {
  /**
   * How many proxies stand in front of this server, or their addresses and networks. Default: what your framework trusts (`trust proxy`
   * of Express, `trustProxy` of Fastify, `app.proxy` of Koa), else none. 0 says that there is none, and goes before your framework's.
   */
  readonly trustedProxies?: number | readonly string[] | undefined;
  /** Bits of an IPv6 address that make a client: 64 (default), or 56 or 48 where providers hand out more. */
  readonly ipv6Subnet?: number | undefined;
  /**
   * The one header that the `trustedProxies` write: a list of hops, or one with the client alone, such as 'cf-connecting-ip', 'fly-client-ip'
   * and 'x-real-ip'. Default: 'x-forwarded-for'.
   */
  readonly header?: keyof typeof HOP_SYNTAX | undefined;
}

/**
 * The client's address as a key. IPv6 addresses are grouped by subnet, because one host owns a whole /64.
 *
 * @example
 * rateLimit({ policy, key: byIp({ trustedProxies: 1 }) }) // behind one load balancer
 */
export function byIp(options: ByIpOptions = {}): Key {
  checkOptionNames(options, ['trustedProxies', 'ipv6Subnet', 'header'], 'byIp');
  const { trustedProxies, ipv6Subnet = 64, header = 'x-forwarded-for' } = options;
  checkSubnet(ipv6Subnet);
  checkHeader(header);
  if (trustedProxies === undefined) refuseHeaderAlone(header);
  const key =
    trustedProxies === undefined ? askingFramework(header, ipv6Subnet) : walking(trustedProxies, header, ipv6Subnet);
  return lacking(key, ADDRESS);
}

/** Most addresses need no other form than they come in. */
function keyOf(ip: string | undefined, ipv6Subnet: number): string | undefined {
  if (ip === undefined) return undefined;
  const plain = plainIpv4(ip);
  return plain === undefined ? keyOfAddress(parseAddress(ip), ipv6Subnet) : `ip:${plain}`;
}

function keyOfAddress(address: Address | undefined, ipv6Subnet: number): string | undefined {
  return address && `ip:${formatGroup(address, ipv6Subnet)}`;
}

/** A proxy writes its header into each request, so not all of them need to be looked at for ever: the first thousand, and then some. */
const LOOKED_AT = 1000;
const ONE_IN = 128;

/** What the framework says, if it trusts anyone. A text that is no address came through a header: then it is the peer's. */
function askingFramework(header: string, ipv6Subnet: number): Key {
  const mistake = untrustedHeader(header);
  let seen = 0;
  return (view, warn) => {
    const { client } = view;
    if (client === undefined) {
      seen++;
      const isLookedAt = warn !== undefined && (seen <= LOOKED_AT || seen % ONE_IN === 0);
      if (isLookedAt && view.header(header) !== undefined) warn(mistake);
      return keyOf(view.ip, ipv6Subnet);
    }
    if (client.mistake !== undefined) warn?.(client.mistake);
    return keyOf(client.ip, ipv6Subnet) ?? keyOf(view.ip, ipv6Subnet);
  };
}

function walking(trustedProxies: unknown, header: keyof typeof HOP_SYNTAX, ipv6Subnet: number): Key {
  const trust = trustIn(trustedProxies, 'byIp.trustedProxies');
  if (trust === undefined) return (view) => keyOf(view.ip, ipv6Subnet);
  const syntax: HopSyntax = HOP_SYNTAX[header];
  const most = syntax.isClientAlone === true ? 1 : Number.POSITIVE_INFINITY;
  return (view) => keyOfAddress(walk(addressOf(view.ip), view.header(header) ?? '', trust, syntax, most), ipv6Subnet);
}

function addressOf(ip: string | undefined): Address | undefined {
  return ip === undefined ? undefined : parseAddress(ip);
}

function walk(
  peer: Address | undefined,
  hops: string,
  trust: Trust,
  syntax: HopSyntax,
  most: number,
): Address | undefined {
  let address = peer;
  let end = hops.length;
  for (let hop = 0; hop < most && end >= 0 && trust(address, hop); hop++) {
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
    message:
      `A request came with the header ${header}, and byIp() trusts no proxy: everyone behind one proxy shares one limit. ` +
      'Behind a proxy, write byIp({ trustedProxies: 1 }) or turn on the setting of your framework; without one, byIp({ trustedProxies: 0 }).',
  };
}

function checkSubnet(bits: unknown): void {
  if (Number.isInteger(bits) && (bits as number) >= 32 && (bits as number) <= 128) return;
  throw invalidOption('byIp.ipv6Subnet', 'a whole number of bits from 32 to 128', bits);
}

function checkHeader(header: unknown): void {
  if (typeof header === 'string' && Object.hasOwn(HOP_SYNTAX, header)) return;
  const names = Object.keys(HOP_SYNTAX).map((name) => `'${name}'`);
  throw invalidOption('byIp.header', names.join(', '), header);
}

/** The framework's own setting is for X-Forwarded-For. Anyone can send these headers to a server that no proxy stands before. */
function refuseHeaderAlone(header: keyof typeof HOP_SYNTAX): void {
  if ((HOP_SYNTAX[header] as HopSyntax).isClientAlone !== true) return;
  throw mistaken(
    'SLUICE_INVALID_OPTION',
    'byIp.header',
    `byIp: a proxy writes ${header}. Say how many proxies there are: byIp({ header: '${header}', trustedProxies: 1 }).`,
  );
}
