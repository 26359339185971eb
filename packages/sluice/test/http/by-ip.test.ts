/** Who is calling: (peer, headers, trust) -> key, row by row, with what people try in order to be someone else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ByIpOptions, byIp } from '../../src/http/index.ts';
import { viewOf } from './support.ts';

type Row = [
  why: string,
  peer: string | undefined,
  header: string | undefined,
  trust: ByIpOptions,
  key: string | undefined,
];

const PRIVATE = ['10.0.0.0/8', '192.168.0.0/16', 'fd00::/8', '127.0.0.1', '::1'];
const list: ByIpOptions = { trustedProxies: PRIVATE };
const one: ByIpOptions = { trustedProxies: 1 };
const two: ByIpOptions = { trustedProxies: 2 };
const three: ByIpOptions = { trustedProxies: 3 };

const NO_TRUST: Row[] = [
  ['the peer by itself', '203.0.113.7', undefined, {}, 'ip:203.0.113.7'],
  ['a spoofed header is not read', '203.0.113.7', '1.1.1.1', {}, 'ip:203.0.113.7'],
  ['nor a long one', '203.0.113.7', '1.1.1.1, 2.2.2.2, 3.3.3.3', {}, 'ip:203.0.113.7'],
  ['nor with trust of 0', '203.0.113.7', '1.1.1.1', { trustedProxies: 0 }, 'ip:203.0.113.7'],
  ['nor with an empty list', '203.0.113.7', '1.1.1.1', { trustedProxies: [] }, 'ip:203.0.113.7'],
  ['a private peer is not trusted for being private', '10.0.0.1', '1.1.1.1', {}, 'ip:10.0.0.1'],
  ['nor is loopback', '127.0.0.1', '1.1.1.1', {}, 'ip:127.0.0.1'],
  ['no address at all', undefined, '1.1.1.1', {}, undefined],
  ['a peer that is no address', 'localhost', undefined, {}, undefined],
];

const SPELLINGS: Row[] = [
  ['mapped, dotted', '::ffff:1.2.3.4', undefined, {}, 'ip:1.2.3.4'],
  ['mapped, upper case and hexadecimal', '::FFFF:102:304', undefined, {}, 'ip:1.2.3.4'],
  ['mapped, padded', '0000:0000:0000:0000:0000:ffff:0102:0304', undefined, {}, 'ip:1.2.3.4'],
  ['mapped, without ::', '0:0:0:0:0:ffff:1.2.3.4', undefined, {}, 'ip:1.2.3.4'],
  ['mapped, bracketed with port', '[::ffff:1.2.3.4]:8080', undefined, {}, 'ip:1.2.3.4'],
  ['mapped, with a zone', '::ffff:1.2.3.4%eth0', undefined, {}, 'ip:1.2.3.4'],
  ['NAT64', '64:ff9b::1.2.3.4', undefined, {}, 'ip:1.2.3.4'],
  ['NAT64, hexadecimal and upper case', '64:FF9B::102:304', undefined, {}, 'ip:1.2.3.4'],
  ['outside of NAT64', '64:ff9b:1::102:304', undefined, {}, 'ip:64:ff9b:1::/64'],
  ['IPv4-compatible is not mapped', '::1.2.3.4', undefined, {}, 'ip:::/64'],
  ['IPv4 with a port', '1.2.3.4:5678', undefined, {}, 'ip:1.2.3.4'],
  ['IPv6 by its /64', '2001:db8:1:2:3:4:5:6', undefined, {}, 'ip:2001:db8:1:2::/64'],
  ['another address of the same /64', '2001:0DB8:0001:0002::1', undefined, {}, 'ip:2001:db8:1:2::/64'],
  ['the next /64', '2001:db8:1:3::1', undefined, {}, 'ip:2001:db8:1:3::/64'],
  ['IPv6 with a zone', 'fe80::1%en0', undefined, {}, 'ip:fe80::/64'],
  ['IPv6 with brackets and port', '[2001:db8::1]:443', undefined, {}, 'ip:2001:db8::/64'],
  ['/56', '2001:db8:1:2ff::1', undefined, { ipv6Subnet: 56 }, 'ip:2001:db8:1:200::/56'],
  ['/48', '2001:db8:1:2ff::1', undefined, { ipv6Subnet: 48 }, 'ip:2001:db8:1::/48'],
  ['/60, within a group of four digits', '2001:db8:1:2ff::1', undefined, { ipv6Subnet: 60 }, 'ip:2001:db8:1:2f0::/60'],
  ['/128 is the address itself', '2001:db8:0:0:1:0:0:1', undefined, { ipv6Subnet: 128 }, 'ip:2001:db8::1:0:0:1'],
  ['IPv4 is never grouped', '1.2.3.4', undefined, { ipv6Subnet: 48 }, 'ip:1.2.3.4'],
];

const BY_COUNT: Row[] = [
  ['one proxy', '10.0.0.1', '198.51.100.9', one, 'ip:198.51.100.9'],
  ['one proxy, spoofed in front', '10.0.0.1', '1.1.1.1, 198.51.100.9', one, 'ip:198.51.100.9'],
  ['one proxy, many spoofed', '10.0.0.1', '9.9.9.9,8.8.8.8 , 7.7.7.7,198.51.100.9', one, 'ip:198.51.100.9'],
  ['one proxy, garbage in front', '10.0.0.1', "'; DROP TABLE, 198.51.100.9", one, 'ip:198.51.100.9'],
  ['one proxy, a quote in front', '10.0.0.1', '"1.1.1.1, 198.51.100.9', one, 'ip:198.51.100.9'],
  ['one proxy that sent nothing', '10.0.0.1', undefined, one, 'ip:10.0.0.1'],
  ['one proxy that sent an empty header', '10.0.0.1', '', one, 'ip:10.0.0.1'],
  ['two proxies', '10.0.0.1', '198.51.100.9, 10.0.0.2', two, 'ip:198.51.100.9'],
  ['two proxies, spoofed in front', '10.0.0.1', '1.1.1.1, 198.51.100.9, 10.0.0.2', two, 'ip:198.51.100.9'],
  ['two proxies, and the second was passed by', '10.0.0.1', '198.51.100.9', two, 'ip:198.51.100.9'],
  [
    'three proxies, spoofed with their own address',
    '10.0.0.1',
    '10.0.0.3, 198.51.100.9, 10.0.0.3, 10.0.0.2',
    three,
    'ip:198.51.100.9',
  ],
  ['a Unix socket counts as a hop', undefined, '198.51.100.9', one, 'ip:198.51.100.9'],
  ['a Unix socket, spoofed in front', undefined, '1.1.1.1, 198.51.100.9', one, 'ip:198.51.100.9'],
  ['IPv6 from a proxy', '10.0.0.1', '2001:db8:a:b:c::1', one, 'ip:2001:db8:a:b::/64'],
  ['IPv6 with brackets and port', '10.0.0.1', '[2001:db8:a:b:c::1]:4711', one, 'ip:2001:db8:a:b::/64'],
  ['IPv4 with port', '10.0.0.1', '1.1.1.1, 198.51.100.9:4711', one, 'ip:198.51.100.9'],
  ['mapped from a proxy', '::ffff:10.0.0.1', '::ffff:198.51.100.9', one, 'ip:198.51.100.9'],
  ['white space of all kinds', '10.0.0.1', '\t1.1.1.1 ,\t 198.51.100.9 \t', one, 'ip:198.51.100.9'],
];

const GARBAGE: Row[] = [
  ['unknown ends the walk', '10.0.0.1', '1.1.1.1, unknown', two, 'ip:10.0.0.1'],
  ['so does a word', '10.0.0.1', '1.1.1.1, nginx, 10.0.0.2', three, 'ip:10.0.0.2'],
  ['so does an empty hop', '10.0.0.1', '1.1.1.1,,10.0.0.2', three, 'ip:10.0.0.2'],
  ['so does a comma at the end', '10.0.0.1', '1.1.1.1,', two, 'ip:10.0.0.1'],
  ['and one by itself', '10.0.0.1', ',', two, 'ip:10.0.0.1'],
  ['octets over 255', '10.0.0.1', '1.1.1.1, 256.1.1.1', two, 'ip:10.0.0.1'],
  ['octets with leading zeros: octal to some', '10.0.0.1', '1.1.1.1, 010.0.0.1', two, 'ip:10.0.0.1'],
  ['three octets', '10.0.0.1', '1.1.1.1, 10.0.1', two, 'ip:10.0.0.1'],
  ['a bare number', '10.0.0.1', '1.1.1.1, 167772161', two, 'ip:10.0.0.1'],
  ['hexadecimal octets', '10.0.0.1', '1.1.1.1, 0xa.0.0.1', two, 'ip:10.0.0.1'],
  ['two ::', '10.0.0.1', '1.1.1.1, 1::2::3', two, 'ip:10.0.0.1'],
  ['nine groups', '10.0.0.1', '1.1.1.1, 1:2:3:4:5:6:7:8:9', two, 'ip:10.0.0.1'],
  ['seven groups', '10.0.0.1', '1.1.1.1, 1:2:3:4:5:6:7', two, 'ip:10.0.0.1'],
  ['eight groups and ::', '10.0.0.1', '1.1.1.1, 1:2:3:4::5:6:7:8', two, 'ip:10.0.0.1'],
  ['five digits in a group', '10.0.0.1', '1.1.1.1, 12345::', two, 'ip:10.0.0.1'],
  ['IPv4 in the middle of IPv6', '10.0.0.1', '1.1.1.1, ::1.2.3.4:1', two, 'ip:10.0.0.1'],
  ['a single colon at the end', '10.0.0.1', '1.1.1.1, 1::2:', two, 'ip:10.0.0.1'],
  ['an open bracket', '10.0.0.1', '1.1.1.1, [::1', two, 'ip:10.0.0.1'],
  ['an IPv4 address in brackets', '10.0.0.1', '1.1.1.1, [10.0.0.2]', two, 'ip:10.0.0.1'],
  ['a port that is none', '10.0.0.1', '1.1.1.1, 10.0.0.2:http', two, 'ip:10.0.0.1'],
  ['a network', '10.0.0.1', '1.1.1.1, 10.0.0.2/8', two, 'ip:10.0.0.1'],
  ['digits of another script', '10.0.0.1', '1.1.1.1, ١.1.1.1', two, 'ip:10.0.0.1'],
  ['a thousand characters', '10.0.0.1', `1.1.1.1, fe80::1%${'x'.repeat(1000)}`, two, 'ip:10.0.0.1'],
];

const BY_NETWORK: Row[] = [
  ['a peer in the list', '10.9.8.7', '198.51.100.9', list, 'ip:198.51.100.9'],
  ['a peer that is not', '198.51.100.200', '1.1.1.1', list, 'ip:198.51.100.200'],
  ['a client that claims to be inside', '198.51.100.200', '10.0.0.1', list, 'ip:198.51.100.200'],
  ['a chain of ours', '10.0.0.1', '198.51.100.9, 192.168.3.4, 10.0.0.2', list, 'ip:198.51.100.9'],
  ['a chain, spoofed in front', '10.0.0.1', '1.1.1.1, 198.51.100.9, 192.168.3.4', list, 'ip:198.51.100.9'],
  ['spoofed with an address of ours', '10.0.0.1', '10.0.0.5, 198.51.100.9, 192.168.3.4', list, 'ip:198.51.100.9'],
  ['everyone is ours: a caller from inside', '10.0.0.1', '10.0.0.3, 10.0.0.2', list, 'ip:10.0.0.3'],
  ['mapped spellings are in the list too', '::ffff:10.0.0.1', '198.51.100.9, ::ffff:a00:2', list, 'ip:198.51.100.9'],
  ['IPv6 networks', 'fd12::1', '2001:db8::1, fdff:ffff::1', list, 'ip:2001:db8::/64'],
  ['just outside of the network', 'fe00::1', '1.1.1.1', list, 'ip:fe00::/64'],
  ['a single address', '127.0.0.1', '198.51.100.9', list, 'ip:198.51.100.9'],
  ['the neighbour of a single address', '127.0.0.2', '198.51.100.9', list, 'ip:127.0.0.2'],
  ['garbage after a good hop', '10.0.0.1', '1.1.1.1, ?, 10.0.0.2', list, 'ip:10.0.0.2'],
  ['no peer is no proxy of the list', undefined, '198.51.100.9', list, undefined],
  ['a network of 31 bits', '10.0.0.3', '198.51.100.9', { trustedProxies: ['10.0.0.2/31'] }, 'ip:198.51.100.9'],
  ['beyond it', '10.0.0.4', '198.51.100.9', { trustedProxies: ['10.0.0.2/31'] }, 'ip:10.0.0.4'],
  ['a network with bits of a host', '10.1.2.3', '198.51.100.9', { trustedProxies: ['10.9.9.9/8'] }, 'ip:198.51.100.9'],
  [
    'a network written as mapped',
    '10.1.2.3',
    '198.51.100.9',
    { trustedProxies: ['::ffff:10.0.0.0/104'] },
    'ip:198.51.100.9',
  ],
];

const forwarded = (trust: ByIpOptions): ByIpOptions => ({ ...trust, header: 'forwarded' });
const FORWARDED: Row[] = [
  ['a token', '10.0.0.1', 'for=198.51.100.9', forwarded(one), 'ip:198.51.100.9'],
  [
    'other parameters around it',
    '10.0.0.1',
    'proto=https;For=198.51.100.9;by=10.0.0.1',
    forwarded(one),
    'ip:198.51.100.9',
  ],
  ['quoted, with port', '10.0.0.1', 'for="198.51.100.9:4711"', forwarded(one), 'ip:198.51.100.9'],
  ['quoted IPv6, bracketed', '10.0.0.1', 'for="[2001:db8:cafe::17]"', forwarded(one), 'ip:2001:db8:cafe::/64'],
  ['with port', '10.0.0.1', 'for="[2001:db8:cafe::17]:4711";proto=http', forwarded(one), 'ip:2001:db8:cafe::/64'],
  ['with a hidden port', '10.0.0.1', 'for="[2001:db8:cafe::17]:_hidden"', forwarded(one), 'ip:2001:db8:cafe::/64'],
  ['quoted with escapes', '10.0.0.1', 'for="198.51\\.100.9"', forwarded(one), 'ip:198.51.100.9'],
  ['spoofed in front', '10.0.0.1', 'for=1.1.1.1, for=198.51.100.9', forwarded(one), 'ip:198.51.100.9'],
  [
    'an open quote in front swallows nothing',
    '10.0.0.1',
    'for="1.1.1.1, for=198.51.100.9',
    forwarded(one),
    'ip:198.51.100.9',
  ],
  [
    'nor does one with a backslash',
    '10.0.0.1',
    'for="1.1.1.1\\, for="198.51.100.9"',
    forwarded(one),
    'ip:198.51.100.9',
  ],
  [
    'a comma in quotes is no separator',
    '10.0.0.1',
    'for=198.51.100.9;ext="a, for=1.1.1.1"',
    forwarded(one),
    'ip:198.51.100.9',
  ],
  [
    'an escaped quote is no end',
    '10.0.0.1',
    'for=198.51.100.9;ext="a\\", for=1.1.1.1"',
    forwarded(one),
    'ip:198.51.100.9',
  ],
  ['nothing between semicolons', '10.0.0.1', ';for=198.51.100.9;;proto=http;', forwarded(one), 'ip:198.51.100.9'],
  ['two proxies', '10.0.0.1', 'for=1.1.1.1, for=198.51.100.9;by=x, for="10.0.0.2"', forwarded(two), 'ip:198.51.100.9'],
  ['unknown', '10.0.0.1', 'for=1.1.1.1, for=unknown', forwarded(two), 'ip:10.0.0.1'],
  ['hidden', '10.0.0.1', 'for=1.1.1.1, for=_SEVKISEK', forwarded(two), 'ip:10.0.0.1'],
  ['hidden, quoted', '10.0.0.1', 'for=1.1.1.1, for="_gazonk"', forwarded(two), 'ip:10.0.0.1'],
  ['no for at all', '10.0.0.1', 'for=1.1.1.1, proto=https', forwarded(two), 'ip:10.0.0.1'],
  ['for twice in one element', '10.0.0.1', 'for=198.51.100.9;for=1.1.1.1', forwarded(one), 'ip:10.0.0.1'],
  ['text behind a closing quote', '10.0.0.1', 'for="198.51.100.9"x', forwarded(one), 'ip:10.0.0.1'],
  ['X-Forwarded-For syntax', '10.0.0.1', '198.51.100.9', forwarded(one), 'ip:10.0.0.1'],
  [
    'brackets without quotes, meant well',
    '10.0.0.1',
    'for=[2001:db8:cafe::17]:80',
    forwarded(one),
    'ip:2001:db8:cafe::/64',
  ],
  ['by network', '10.0.0.1', 'for=10.0.0.9, for=198.51.100.9, for="[fd00::1]:80"', forwarded(list), 'ip:198.51.100.9'],
  ['an untrusted peer', '198.51.100.1', 'for=1.1.1.1', forwarded(list), 'ip:198.51.100.1'],
];

const cloudflare = (trust: ByIpOptions): ByIpOptions => ({ ...trust, header: 'cf-connecting-ip' });
const CLIENT_ALONE: Row[] = [
  ['of a proxy', '10.0.0.1', '198.51.100.9', cloudflare(one), 'ip:198.51.100.9'],
  ['of the first of several proxies', '10.0.0.1', '198.51.100.9', cloudflare(three), 'ip:198.51.100.9'],
  ['IPv6', '10.0.0.1', '2001:db8:a:b:c::1', cloudflare(one), 'ip:2001:db8:a:b::/64'],
  [
    'the client sent one too, and the proxy added its own',
    '10.0.0.1',
    '1.1.1.1, 198.51.100.9',
    cloudflare(two),
    'ip:198.51.100.9',
  ],
  ['none', '10.0.0.1', undefined, cloudflare(one), 'ip:10.0.0.1'],
  ['garbage', '10.0.0.1', 'me', cloudflare(one), 'ip:10.0.0.1'],
  ['by network', '10.0.0.1', '198.51.100.9', cloudflare(list), 'ip:198.51.100.9'],
  ['a peer that is not in the list', '203.0.113.1', '1.1.1.1', cloudflare(list), 'ip:203.0.113.1'],
  ['nobody is trusted', '10.0.0.1', '1.1.1.1', cloudflare({ trustedProxies: 0 }), 'ip:10.0.0.1'],
  ['of Fly', '10.0.0.1', '198.51.100.9', { ...one, header: 'fly-client-ip' }, 'ip:198.51.100.9'],
  ['of nginx', '10.0.0.1', '198.51.100.9', { ...one, header: 'x-real-ip' }, 'ip:198.51.100.9'],
];

const TABLES = { NO_TRUST, SPELLINGS, BY_COUNT, GARBAGE, BY_NETWORK, FORWARDED, CLIENT_ALONE };

describe.each(Object.entries(TABLES))('%s', (_, rows) => {
  test.each(rows)('%s', (_, peer, header, trust, key) => {
    const headers = { [trust.header ?? 'x-forwarded-for']: header };
    expect(byIp(trust)(viewOf({ ip: peer, headers }))).toBe(key);
  });
});

test('there are enough rows, and no two of the same name', () => {
  const names = Object.entries(TABLES).flatMap(([table, rows]) => rows.map(([why]) => `${table}: ${why}`));
  expect(names.length).toBeGreaterThanOrEqual(60);
  expect(new Set(names).size).toBe(names.length);
});

test('only the one header is read', () => {
  const headers = {
    forwarded: 'for=1.1.1.1',
    'x-real-ip': '2.2.2.2',
    'cf-connecting-ip': '3.3.3.3',
    'x-forwarded-for': '4.4.4.4',
  };
  expect(byIp(one)(viewOf({ ip: '10.0.0.1', headers }))).toBe('ip:4.4.4.4');
  expect(byIp(forwarded(one))(viewOf({ ip: '10.0.0.1', headers }))).toBe('ip:1.1.1.1');
});

test('a proxy that comes late is noticed too, after a while', () => {
  const key = byIp();
  const codes: string[] = [];
  const warn = ({ code }: { readonly code: string }): void => void codes.push(code);
  for (let request = 0; request < 5000; request++) key(viewOf(), warn);
  expect(codes).toEqual([]);
  const headers = { 'x-forwarded-for': '1.1.1.1' };
  for (let request = 0; request < 128; request++) expect(key(viewOf({ headers }), warn)).toBe('ip:203.0.113.7');
  expect(codes).toEqual(['SLUICE_UNTRUSTED_FORWARDED_FOR']);
});

/** What a client can write into a header: mostly what a parser cares about. */
const scribbles = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'",;=\\[]:.% \tfor10af_'), maxLength: 40 }),
  fc.string({ maxLength: 40 }),
  fc.array(fc.ipV4(), { maxLength: 5 }).map((hops) => hops.join(', ')),
  fc.array(fc.ipV6(), { maxLength: 5 }).map((hops) => hops.map((hop) => `for="[${hop}]"`).join(',')),
  fc.constantFrom('for="', 'for="\\', '", for="', 'for=1.1.1.1;ext="', '10.0.0.1, 10.0.0.2', '\\"', '"\\\\'),
);
const outside = fc.oneof(fc.constant('198.51.100.9'), fc.constant('2001:db8:9::1'));
const chains = fc.array(fc.constantFrom('10.0.0.2', '10.0.0.3', '192.168.1.1', 'fd00::5'), { maxLength: 4 });

/** Each proxy adds whom it heard from; the first one heard from the client, who may have sent a header of its own. */
function headerAfter(sent: string | undefined, heard: readonly string[], write: (ip: string) => string): string {
  return [...(sent === undefined ? [] : [sent]), ...heard.map(write)].join(', ');
}

describe('nothing a client puts into the header changes the key', () => {
  const plain = (ip: string): string => ip;
  const element = (ip: string): string =>
    ip.includes(':') ? `for="[${ip}]:80";proto=https` : `for=${ip};ext="a\\", b"`;
  test.each([
    ['x-forwarded-for', plain],
    ['forwarded', element],
  ] as const)('%s', (header, write) => {
    fc.assert(
      fc.property(outside, chains, scribbles, fc.boolean(), (client, chain, sent, byCount) => {
        const heard = [client, ...chain];
        const key = byIp({ header, trustedProxies: byCount ? heard.length : PRIVATE });
        const keyOf = (value: string): string | undefined =>
          key(viewOf({ ip: '10.0.0.1', headers: { [header]: value } }));
        const honest = keyOf(headerAfter(undefined, heard, write));
        expect(honest).toBe(client.includes(':') ? 'ip:2001:db8:9::/64' : `ip:${client}`);
        expect(keyOf(headerAfter(sent, heard, write))).toBe(honest);
      }),
      { numRuns: 2000 },
    );
  });
});
