/** What servers say, as they say it, and what is made of it. */
import fc from 'fast-check';
import { parseList as parseWithPackage } from 'structured-headers';
import { describe, expect, test, vi } from 'vitest';
import { headerWriter, parseRateLimit, type RateLimitReport } from '../../src/http/index.ts';
import { parseList } from '../../src/http/structured-fields.ts';
import { fixedWindow } from '../../src/index.ts';
import { resultOf } from './support.ts';

const NOW = Date.parse('2026-11-05T12:00:00Z');
const parse = (headers: Record<string, string>): RateLimitReport => parseRateLimit(headers, NOW);

type Expected = Partial<Omit<RateLimitReport, 'quotas'>> & { quotas?: object[] };

const ROWS: [server: string, headers: Record<string, string>, expected: Expected][] = [
  ['one that says nothing', { 'content-type': 'text/plain' }, { limit: undefined, retryAfter: undefined, quotas: [] }],
  [
    'draft 11',
    {
      'RateLimit-Policy': '"burst";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=99;t=50, "daily";r=10;t=3600',
    },
    {
      ...{ limit: 1000, remaining: 10, resetAfter: 3600 },
      quotas: [
        { name: 'burst', limit: 100, remaining: 99, window: 60, resetAfter: 50 },
        { name: 'daily', limit: 1000, remaining: 10, window: 86400, resetAfter: 3600 },
      ],
    },
  ],
  [
    'draft 11 with escapes and other parameters',
    { RateLimit: '"a \\"b\\", c";r=1;t=2;pk=:cHk=:;x' },
    { quotas: [{ name: 'a "b", c', remaining: 1, resetAfter: 2 }] },
  ],
  [
    'draft 11 with parameters of every type',
    { RateLimit: '"a";r=1;t=2;i=-1;d=1.5;s="x";k=tok/en;b=:cHk=:;f=?0;at=@1659578233;text=%"f%c3%bc"' },
    { quotas: [{ name: 'a', remaining: 1, resetAfter: 2 }] },
  ],
  [
    'draft 11, the policy only',
    { 'RateLimit-Policy': '"x";q=5;w=1' },
    { limit: 5, remaining: undefined, quotas: [{ name: 'x', window: 1 }] },
  ],
  [
    'draft 8, with tokens',
    { 'RateLimit-Policy': 'fixed;q=9;w=60', RateLimit: 'fixed;r=3;t=7' },
    { limit: 9, remaining: 3, resetAfter: 7 },
  ],
  [
    'draft 7',
    { RateLimit: 'limit=100, remaining=42, reset=50', 'RateLimit-Policy': '100;w=60' },
    { limit: 100, remaining: 42, resetAfter: 50, quotas: [{ name: undefined, window: 60 }] },
  ],
  [
    'draft 7, in another order',
    { RateLimit: 'remaining=0,reset=5,limit=1' },
    { limit: 1, remaining: 0, resetAfter: 5 },
  ],
  [
    'draft 6',
    {
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '42',
      'RateLimit-Reset': '50',
      'RateLimit-Policy': '10;w=1, 100;w=60',
    },
    { limit: 100, remaining: 42, resetAfter: 50, quotas: [{ window: 60 }] },
  ],
  [
    'draft 3',
    { 'RateLimit-Limit': '100, 100;w=60', 'RateLimit-Remaining': '1', 'RateLimit-Reset': '9' },
    { limit: 100, remaining: 1, quotas: [{ window: 60 }] },
  ],
  [
    'GitHub',
    {
      ...{ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4987', 'x-ratelimit-used': '13' },
      ...{ 'x-ratelimit-reset': `${NOW / 1000 + 1800}`, 'x-ratelimit-resource': 'core' },
    },
    { limit: 5000, remaining: 4987, resetAfter: 1800, quotas: [{ name: 'core', used: 13 }] },
  ],
  [
    'OpenAI',
    {
      ...{
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
      },
      ...{
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-tokens': '149',
        'x-ratelimit-reset-tokens': '6m0s',
      },
    },
    {
      ...{ limit: 150_000, remaining: 149, resetAfter: 360 },
      quotas: [
        { name: 'requests', limit: 60, remaining: 59, resetAfter: 1 },
        { name: 'tokens', limit: 150_000, remaining: 149, resetAfter: 360 },
      ],
    },
  ],
  [
    'OpenAI, soon',
    { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20ms' },
    { remaining: 0, resetAfter: 0.02 },
  ],
  [
    'microseconds, as they look when UTF-8 was read as Latin-1',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1.5Âµs' },
    { resetAfter: 1.5e-6 },
  ],
  ['a long duration', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1h2m3.5s' }, { resetAfter: 3723.5 }],
  [
    'Anthropic',
    {
      ...{ 'anthropic-ratelimit-requests-limit': '50', 'anthropic-ratelimit-requests-remaining': '49' },
      ...{ 'anthropic-ratelimit-requests-reset': '2026-11-05T12:00:30Z' },
      ...{ 'anthropic-ratelimit-input-tokens-limit': '40000', 'anthropic-ratelimit-input-tokens-remaining': '0' },
      ...{ 'anthropic-ratelimit-input-tokens-reset': '2026-11-05T12:01:00Z', 'retry-after': '12' },
    },
    {
      ...{ limit: 40_000, remaining: 0, resetAfter: 60, retryAfter: 12 },
      quotas: [
        { name: 'requests', limit: 50, remaining: 49, resetAfter: 30 },
        { name: 'input-tokens', limit: 40_000, remaining: 0, resetAfter: 60 },
      ],
    },
  ],
  [
    'Discord',
    {
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1470173023.123',
      'x-ratelimit-reset-after': '64.57',
    },
    { resetAfter: 64.57 },
  ],
  [
    'Reddit',
    { 'x-ratelimit-remaining': '99.0', 'x-ratelimit-used': '1', 'x-ratelimit-reset': '577' },
    { remaining: 99, resetAfter: 577 },
  ],
  [
    'Twitter',
    { 'x-rate-limit-limit': '15', 'x-rate-limit-remaining': '3', 'x-rate-limit-reset': `${NOW / 1000 + 60}` },
    { limit: 15, remaining: 3, resetAfter: 60 },
  ],
  [
    'Imgur, whose names stand before what is told of them',
    {
      ...{ 'X-RateLimit-ClientLimit': '12500', 'X-RateLimit-ClientRemaining': '12499' },
      ...{ 'X-RateLimit-UserLimit': '60', 'X-RateLimit-UserRemaining': '42' },
      'X-RateLimit-UserReset': `${NOW / 1000 + 60}`,
    },
    {
      ...{ limit: 60, remaining: 42, resetAfter: 60 },
      quotas: [
        { name: 'client', limit: 12_500, remaining: 12_499 },
        { name: 'user', limit: 60 },
      ],
    },
  ],
  [
    'Linear, likewise',
    {
      ...{ 'X-RateLimit-Requests-Limit': '1500', 'X-RateLimit-Requests-Remaining': '1499' },
      ...{ 'X-RateLimit-Requests-Reset': `${NOW + 1000}`, 'X-Complexity': '10' },
      ...{ 'X-RateLimit-Complexity-Limit': '250000', 'X-RateLimit-Complexity-Remaining': '1' },
    },
    {
      ...{ limit: 250_000, remaining: 1 },
      quotas: [{ name: 'requests', limit: 1500, resetAfter: 1 }, { name: 'complexity' }],
    },
  ],
  [
    'Shopify',
    { 'X-Shopify-Shop-Api-Call-Limit': '32/40', 'Retry-After': '2.0' },
    { limit: 40, remaining: 8, retryAfter: 2, quotas: [{ used: 32 }] },
  ],
  ['Shopify, over its limit', { 'X-Shopify-Shop-Api-Call-Limit': '41/40' }, { limit: 40, remaining: 0 }],
  [
    'Docker',
    { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
    { limit: 100, remaining: 76, quotas: [{ window: 21_600 }] },
  ],
  [
    'express-rate-limit, draft 8',
    { 'RateLimit-Policy': '"5-in-1min"; q=5; w=60; pk=:MTI3LjAuMC4x:', RateLimit: '"5-in-1min"; r=4; t=60' },
    { limit: 5, remaining: 4, resetAfter: 60, quotas: [{ name: '5-in-1min', window: 60 }] },
  ],
  ['a zero with a sign', { RateLimit: '"a";r=-0;t=-0' }, { remaining: 0, resetAfter: 0 }],
  [
    'milliseconds since the epoch',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW + 1500}` },
    { resetAfter: 1.5 },
  ],
  [
    'a reset that has passed',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW / 1000 - 60}` },
    { resetAfter: 0 },
  ],
  [
    'a reset as an HTTP date',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'Thu, 05 Nov 2026 12:00:42 GMT' },
    { resetAfter: 42 },
  ],
  [
    'by the clock of the server',
    {
      date: 'Thu, 05 Nov 2026 11:00:00 GMT',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': `${NOW / 1000 - 3590}`,
    },
    { resetAfter: 10 },
  ],
  [
    'drafts go before legacy',
    { RateLimit: '"a";r=5;t=6', 'x-ratelimit-remaining': '7' },
    { remaining: 5, quotas: [{ name: 'a' }] },
  ],
  [
    'the policy in the draft, and what is left in legacy only',
    { 'RateLimit-Policy': '"a";q=5;w=1', 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '3' },
    { limit: 5, remaining: 3 },
  ],
  ['names in any case', { 'X-RATELIMIT-REMAINING': ' 7 ' }, { remaining: 7 }],
  ['Retry-After in seconds', { 'Retry-After': '120' }, { retryAfter: 120 }],
  ['Retry-After with a fraction', { 'Retry-After': '0.5' }, { retryAfter: 0.5 }],
  ['Retry-After as a date', { 'Retry-After': 'Thu, 05 Nov 2026 12:02:00 GMT' }, { retryAfter: 120 }],
  ['Retry-After as a date in the past', { 'Retry-After': 'Thu, 05 Nov 2020 12:02:00 GMT' }, { retryAfter: 0 }],
  ['Retry-After as a date of RFC 850', { 'Retry-After': 'Thursday, 05-Nov-26 12:02:00 GMT' }, { retryAfter: 120 }],
  ['Retry-After as a date of asctime', { 'Retry-After': 'Thu Nov  5 12:02:00 2026' }, { retryAfter: 120 }],
  ['Retry-After as RFC 3339', { 'Retry-After': '2026-11-05t14:02:00.5+02:00' }, { retryAfter: 120.5 }],
  ['Retry-After as a date without a zone', { 'Retry-After': '2026-11-05 12:02:00' }, { retryAfter: 120 }],
  [
    'Retry-After by the clock of the server',
    { date: 'Thu, 05 Nov 2026 12:30:00 GMT', 'Retry-After': 'Thu, 05 Nov 2026 12:30:05 GMT' },
    { retryAfter: 5 },
  ],
  ['retry-after-ms', { 'retry-after-ms': '250', 'Retry-After': '1' }, { retryAfter: 0.25 }],
];

const MALFORMED: [what: string, headers: Record<string, string>, expected: Expected][] = [
  ['Retry-After: words', { 'Retry-After': 'soon' }, { retryAfter: undefined }],
  ['Retry-After: negative', { 'Retry-After': '-1' }, { retryAfter: undefined }],
  ['Retry-After: nothing', { 'Retry-After': '' }, { retryAfter: undefined }],
  ['Retry-After: a date that is none', { 'Retry-After': 'Foo, 99 Bar 2026' }, { retryAfter: undefined }],
  ['Retry-After: words and a number', { 'Retry-After': 'Sorry 5' }, { retryAfter: undefined }],
  ['Retry-After: a month', { 'Retry-After': 'May 5' }, { retryAfter: undefined }],
  ['a quote without end', { RateLimit: '"a;r=5;t=6' }, { quotas: [] }],
  ['a comma at the end', { RateLimit: '"a";r=5;t=6,' }, { quotas: [] }],
  ['text behind an item', { RateLimit: '"a";r=5 t=6' }, { quotas: [] }],
  ['a parameter without a value', { RateLimit: '"a";r=;t=6' }, { quotas: [] }],
  ['an item of 16 digits', { RateLimit: '"a";r=1234567890123456' }, { quotas: [] }],
  ['numbers that are negative', { RateLimit: '"a";r=-5;t=-6' }, { remaining: undefined, resetAfter: undefined }],
  ['numbers that are fractions', { RateLimit: '"a";r=1.5;t=2.5' }, { remaining: undefined, resetAfter: undefined }],
  ['a space before a parameter', { RateLimit: '"a" ;r=5;t=6' }, { quotas: [] }],
  ['bytes that are none', { RateLimit: '"a";r=5;pk=:_:' }, { quotas: [] }],
  ['items that say nothing', { RateLimit: '"a", ""' }, { quotas: [] }],
  [
    'a word in the draft does not hide legacy',
    { RateLimit: 'unlimited', 'x-ratelimit-remaining': '7' },
    { remaining: 7 },
  ],
  ['Shopify: words', { 'X-Shopify-Shop-Api-Call-Limit': 'none/40' }, { quotas: [] }],
  ['limits that are words', { 'x-ratelimit-limit': 'unlimited', 'x-ratelimit-remaining': '?' }, { quotas: [] }],
  [
    'a reset that is words',
    { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': 'later' },
    { remaining: 1, resetAfter: undefined },
  ],
  ['a duration with a gap', { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1m 5s' }, { resetAfter: undefined }],
];

describe.each([
  ['what servers say', ROWS],
  ['what is malformed is ignored', MALFORMED],
])('%s', (_, rows) => {
  test.each(rows)('%s', (_, headers, expected) => expect(parse(headers)).toMatchObject(expected));
});

test.each(['Thu Nov  5 12:02:00 2026', '2026-11-05T12:02:00'])(
  'a date without a zone is not one of this machine: %s',
  (date) => {
    vi.stubEnv('TZ', 'America/New_York');
    const [offset, { retryAfter }] = [new Date(NOW).getTimezoneOffset(), parse({ 'Retry-After': date })];
    vi.unstubAllEnvs();
    expect([offset, retryAfter]).toEqual([300, 120]);
  },
);

describe('sources', () => {
  const headers = { 'X-RateLimit-Remaining': '7', 'Retry-After': '3' };
  test.each([
    ['a Response', new Response(null, { headers })],
    ['Headers', new Headers(headers)],
    ['a plain object', headers],
    [
      'a message of node:http',
      { headers: { 'x-ratelimit-remaining': '7', 'retry-after': '3', 'set-cookie': ['a', 'b'] } },
    ],
  ])('%s', (_, source) => expect(parseRateLimit(source, NOW)).toMatchObject({ remaining: 7, retryAfter: 3 }));

  test('without a time it is now', () => {
    const { resetAfter } = parseRateLimit({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4102444800' });
    expect(resetAfter).toBeGreaterThan(0);
  });
});

test('what we write we read, in every form', () => {
  const policy = fixedWindow({ name: 'a "b", \\c', limit: 100, window: '1m' });
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.nat(1000),
      fc.constantFrom('draft-11', 'draft-7', 'draft-6', 'legacy'),
      (remaining, seconds, form) => {
        const result = resultOf({ policy: policy.name, remaining, resetAfter: seconds, resetAt: NOW / 1000 + seconds });
        const report = parse(headerWriter([policy], { form } as never)(result));
        expect(report).toMatchObject({ limit: 100, remaining, resetAfter: seconds });
        if (form === 'draft-11') expect(report.quotas).toMatchObject([{ name: policy.name, window: 60 }]);
      },
    ),
    { numRuns: 300 },
  );
});

test('no header makes it throw or say a number that is none', () => {
  const texts = fc.oneof(fc.string({ unit: fc.constantFrom(...'"a;r=t1,\\-. q:?msh'), maxLength: 30 }), fc.string());
  const names = [
    'ratelimit',
    'ratelimit-policy',
    'ratelimit-limit',
    'x-ratelimit-reset',
    'x-ratelimit-remaining',
    'retry-after',
    'date',
  ];
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), texts), (headers) => {
      const { quotas, ...report } = parse(headers);
      for (const { name: _, ...quota } of [...quotas, { name: '', ...report }]) {
        for (const value of Object.values(quota)) expect(value === undefined || value >= 0).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
});

test('what is a list and what is none, as the structured-headers package sees it', () => {
  // Without dates: the package reads none before a comma.
  const pieces = ['"a"', '"a\\"b"', ';', 'r', '=', '1', '-', '.', '5', ',', ' ', '\t', ':cHk=:', '?1', '%"x%c3%bc"'];
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join('').trim());
  const isList = (read: () => unknown): boolean => {
    try {
      return read() !== undefined;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(texts, (text) => {
      fc.pre(text !== '');
      expect(isList(() => parseList(text))).toBe(isList(() => parseWithPackage(text)));
    }),
    { numRuns: 3000 },
  );
});
