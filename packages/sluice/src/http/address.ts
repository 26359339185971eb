/**
 * IP addresses in one form. Every address is eight groups of 16 bits, an IPv4 address being the IPv4-mapped one
 * (::ffff:1.2.3.4), so that all spellings of one address are equal and one comparison of prefixes serves both families.
 * Refuses what is ambiguous (octets with leading zeros, short forms): such text is no address. Reads character by character,
 * because every request pays for it.
 */

/** Eight groups of 16 bits. */
export type Address = readonly number[];

/** A port, or the name a proxy hides it behind (RFC 7239). */
const PORT = /^:(?:\d{1,5}|_[\w.-]+)$/;

/** Longer text is no address with a zone, but an attempt to keep us busy. */
const MAX_LENGTH = 128;

const NONE = -1;

/** The address in a text with or without brackets, port and zone; undefined when it holds none. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (text[0] === '[') return parseBracketed(text);
  const colon = text.indexOf(':');
  if (colon < 0) return parseIpv4(text);
  if (colon !== text.lastIndexOf(':')) return parseIpv6(withoutZone(text));
  return PORT.test(text.slice(colon)) ? parseIpv4(text.slice(0, colon)) : undefined;
}

function parseBracketed(text: string): Address | undefined {
  const end = text.indexOf(']');
  const isWhole = end === text.length - 1 || PORT.test(text.slice(end + 1));
  return end > 0 && isWhole ? parseIpv6(withoutZone(text.slice(1, end))) : undefined;
}

function withoutZone(text: string): string {
  const zone = text.indexOf('%');
  return zone < 0 ? text : text.slice(0, zone);
}

function parseIpv4(text: string): Address | undefined {
  const bits = readIpv4(text);
  return bits === NONE ? undefined : fromIpv4(bits >>> 16, bits & 0xffff);
}

function fromIpv4(high: number, low: number): Address {
  return [0, 0, 0, 0, 0, 0xffff, high, low];
}

/** The 32 bits of four decimal octets, or NONE. */
function readIpv4(text: string): number {
  let bits = 0;
  let octet = NONE;
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit === DOT && octet !== NONE && dots < 3) {
      bits = bits * 256 + octet;
      octet = NONE;
      dots++;
    } else if (digit >= 0 && digit <= 9 && octet !== 0) {
      octet = octet === NONE ? digit : octet * 10 + digit;
      if (octet > 255) return NONE;
    } else return NONE;
  }
  return dots === 3 && octet !== NONE ? bits * 256 + octet : NONE;
}

/** A dot on the scale of digits, where the character 0 is 0. */
const DOT = -2;

function parseIpv6(text: string): Address | undefined {
  if (text.endsWith(':') && !text.endsWith('::')) return undefined;
  const groups: number[] = [];
  let gap = text.startsWith('::') ? 0 : NONE;
  for (let at = gap === 0 ? 2 : 0; at < text.length; ) {
    const end = endOfGroup(text, at);
    if (!pushGroup(groups, text, at, end)) return undefined;
    const isGap = text[end + 1] === ':';
    if (isGap && gap !== NONE) return undefined;
    if (isGap) gap = groups.length;
    at = isGap ? end + 2 : end + 1;
  }
  return unwrapNat64(fillGap(groups, gap));
}

function endOfGroup(text: string, at: number): number {
  const colon = text.indexOf(':', at);
  return colon < 0 ? text.length : colon;
}

/** Four hexadecimal digits at most; the last two groups may be written as an IPv4 address. */
function pushGroup(groups: number[], text: string, from: number, to: number): boolean {
  const group = readHexadecimal(text, from, to);
  if (group !== NONE) return groups.push(group) > 0;
  const bits = to === text.length ? readIpv4(text.slice(from)) : NONE;
  return bits !== NONE && groups.push(bits >>> 16, bits & 0xffff) > 0;
}

function readHexadecimal(text: string, from: number, to: number): number {
  if (to === from || to - from > 4) return NONE;
  let group = 0;
  for (let at = from; at < to; at++) {
    const digit = HEXADECIMAL.indexOf(text[at]!);
    if (digit < 0) return NONE;
    group = group * 16 + (digit < 16 ? digit : digit - 6);
  }
  return group;
}

const HEXADECIMAL = '0123456789abcdefABCDEF';

/** `::` stands for one group of zeros at least. */
function fillGap(groups: readonly number[], gap: number): Address | undefined {
  if (gap === NONE) return groups.length === 8 ? groups : undefined;
  if (groups.length > 7) return undefined;
  const address = [0, 0, 0, 0, 0, 0, 0, 0];
  const missing = 8 - groups.length;
  for (let at = 0; at < groups.length; at++) address[at < gap ? at : at + missing] = groups[at]!;
  return address;
}

/** Behind NAT64 (64:ff9b::/96) every IPv4 host has an IPv6 address of its own; it is the host that is meant. */
function unwrapNat64(address: Address | undefined): Address | undefined {
  if (address === undefined || address[0] !== 0x64 || address[1] !== 0xff9b) return address;
  const isNat64 = (address[2]! | address[3]! | address[4]! | address[5]!) === 0;
  return isNat64 ? fromIpv4(address[6]!, address[7]!) : address;
}

const MAPPED = '::ffff:';

/**
 * The IPv4 address that a text is, as servers write the address of a socket: by itself, or mapped into IPv6. It needs no other form, because
 * only one text is each of these. Undefined for all other texts, which may be addresses none the less.
 */
export function plainIpv4(text: string): string | undefined {
  if (readIpv4(text) !== NONE) return text;
  if (!text.startsWith(MAPPED)) return undefined;
  const mapped = text.slice(MAPPED.length);
  return readIpv4(mapped) === NONE ? undefined : mapped;
}

export function isIpv4(address: Address): boolean {
  return address[5] === 0xffff && (address[0]! | address[1]! | address[2]! | address[3]! | address[4]!) === 0;
}

/** An IPv4 address by itself, an IPv6 address by its subnet: one host owns a whole /64 and can use any address in it. */
export function formatGroup(address: Address, ipv6Subnet: number): string {
  if (isIpv4(address)) return formatIpv4(address[6]!, address[7]!);
  return ipv6Subnet === 128 ? formatIpv6(address) : `${formatIpv6(maskTo(address, ipv6Subnet))}/${ipv6Subnet}`;
}

function formatIpv4(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** RFC 5952: lower case, no leading zeros, the first of the longest runs of zero groups as `::`. */
function formatIpv6(address: Address): string {
  const [start, end] = longestZeros(address);
  let text = '';
  for (let at = 0; at < 8; at++) {
    if (at === start) text += '::';
    if (at >= start && at < end) continue;
    text += (at === 0 || at === end ? '' : ':') + address[at]!.toString(16);
  }
  return text;
}

/** Where it begins and ends; a single zero is not worth it, and then both are beyond the address. */
function longestZeros(address: Address): readonly [start: number, end: number] {
  let [start, end] = [9, 10];
  for (let from = 0, at = 0; at < 8; at++) {
    if (address[at] !== 0) from = at + 1;
    else if (at - from + 1 > end - start) [start, end] = [from, at + 1];
  }
  return [start, end];
}

/** The address with everything after the first `bits` bits cleared. */
export function maskTo(address: Address, bits: number): Address {
  return address.map((group, index) => group & maskOfGroup(bits - index * 16));
}

function maskOfGroup(bits: number): number {
  if (bits >= 16) return 0xffff;
  return bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff;
}
