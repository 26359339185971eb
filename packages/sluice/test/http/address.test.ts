/** Our addresses against Node's: what is one, and which spellings mean the same. */
import { isIP, SocketAddress } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatGroup, isIpv4, parseAddress } from '../../src/http/address.ts';

const written = (text: string): string | undefined => {
  const address = parseAddress(text);
  return address && formatGroup(address, 128);
};

const groups = fc.array(fc.oneof(fc.constant(0), fc.constant(0xffff), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
const almost = fc.string({ unit: fc.constantFrom(...'0123456789abcdefF:.'), maxLength: 24 });

test('every IPv6 address is written as RFC 5952 and Node write it', () => {
  fc.assert(
    fc.property(groups, (eight) => {
      const text = eight.map((group) => group.toString(16)).join(':');
      const address = parseAddress(text)!;
      fc.pre(!isIpv4(address));
      expect(formatGroup(address, 128)).toBe(canonical(text));
    }),
    { numRuns: 1000 },
  );
});

test('what we write is read as the same address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      expect(written(written(text)!)).toBe(written(text));
    }),
    { numRuns: 1000 },
  );
});

test('text is an address for us when it is one for Node', () => {
  fc.assert(
    fc.property(fc.oneof(almost, fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) => {
      fc.pre(!/^[\d.]+:\d{1,5}$/.test(text));
      expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0);
    }),
    { numRuns: 3000 },
  );
});

/** Node leaves the mapped, the compatible and the NAT64 ones to us; the rest is compared. */
function canonical(text: string): string {
  return new URL(`http://[${new SocketAddress({ address: text, family: 'ipv6' }).address}]`).hostname.slice(1, -1);
}
