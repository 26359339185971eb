/** Envoy rate limit files: what is accepted unchanged, what is added, and what is wrong in the words of the reference server. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { readConfigs } from '../../src/config/read-config.ts';
import { dumpDomains } from '../../src/envoy/dump.ts';
import { ENVOY_SCHEMA } from '../../src/envoy/schema.ts';
import { problemText } from '../../src/files/problem.ts';
import { run } from '../run.ts';

const linesOf = (...texts: string[]): string[] =>
  readConfigs(texts.map((text, index) => ({ file: `${'abc'[index]}.yaml`, text }))).problems.map(problemText);
const one = (descriptor: string): string => `domain: shop\ndescriptors:\n  - ${descriptor}\n`;
const limited = (rateLimit: string): string => one(`{ key: k, rate_limit: { ${rateLimit} } }`);

/** The text, and the whole line for each problem. */
const BAD: readonly (readonly [text: string, ...lines: string[]])[] = [
  ['domain: ""', 'a.yaml: config file cannot have empty domain (line 1, column 1: domain)'],
  ['domain:', 'a.yaml: config file cannot have empty domain (line 1, column 1: domain)'],
  ['descriptors: []', 'a.yaml: config file cannot have empty domain (line 1, column 1: domain)'],
  [one('{ value: v }'), 'a.yaml: descriptor has empty key (line 3, column 5: descriptors[0])'],
  [one('{ key: "" }'), 'a.yaml: descriptor has empty key (line 3, column 5: descriptors[0])'],
  [
    'domain: shop\ndescriptors:\n  - { key: k, value: v }\n  - { key: k }\n  - { key: k, value: v }',
    "a.yaml: duplicate descriptor composite key 'shop.k_v' (line 5, column 5: descriptors[2])",
  ],
  [
    one('{ key: k, descriptors: [{ key: n }, { key: n }] }'),
    "a.yaml: duplicate descriptor composite key 'shop.k.n' (line 3, column 41: descriptors[0].descriptors[1])",
  ],
  [
    limited('unit: foo, requests_per_unit: 1'),
    "a.yaml: invalid rate limit unit 'foo' (line 3, column 29: descriptors[0].rate_limit.unit)",
  ],
  [
    limited('unit: unknown, requests_per_unit: 1'),
    "a.yaml: invalid rate limit unit 'unknown' (line 3, column 29: descriptors[0].rate_limit.unit)",
  ],
  [
    limited('requests_per_unit: 1'),
    "a.yaml: invalid rate limit unit '' (line 3, column 15: descriptors[0].rate_limit.unit)",
  ],
  [
    limited('unlimited: true, unit: day'),
    'a.yaml: should not specify rate limit unit when unlimited (line 3, column 46: descriptors[0].rate_limit.unit)',
  ],
  [
    limited('unit: day, requests_per_unit: 1, name: n, replaces: [{ name: n }]'),
    'a.yaml: replaces should not contain name of same descriptor (line 3, column 82: descriptors[0].rate_limit.replaces[0])',
  ],
  [
    limited('unit: day, requests_per_unit: 1, name: n, replaces: [{ name: "" }]'),
    'a.yaml: should not have an empty replaces entry (line 3, column 82: descriptors[0].rate_limit.replaces[0])',
  ],
  [
    limited('unit: day, requests_per_unit: 1, replaces: { name: n }'),
    'a.yaml: error loading config file: replaces: expected a list of maps with a name, got a map (line 3, column 62: descriptors[0].rate_limit.replaces)',
  ],
  [
    limited('unlimited: true, replaces: other'),
    'a.yaml: error loading config file: replaces: expected a list of maps with a name, got "other" (line 3, column 46: descriptors[0].rate_limit.replaces)',
  ],
  [
    one('{ key: k, value: v, share_threshold: true }'),
    "a.yaml: share_threshold can only be used with wildcard values (containing '*'), but found key 'k_v' (line 3, column 25: descriptors[0].share_threshold)",
  ],
  [
    one('{ key: k, ratelimit: { unit: day } }'),
    "a.yaml: config error, unknown key 'ratelimit' (line 3, column 15: descriptors[0].ratelimit)",
  ],
  [
    `${one('{ key: k }')}algorithm: gcra`,
    "a.yaml: config error, unknown key 'algorithm' (line 4, column 1: algorithm)",
  ],
  [`${one('{ key: k }')}0.25: x`, 'a.yaml: config error, key is not of type string: 0.25 (line 4, column 1: 0.25)'],
  [
    'domain: shop\ndescriptors:\n  - a\n  - b',
    'a.yaml: config error, yaml file contains list of type other than map: a (line 3, column 5: descriptors[0])',
    'a.yaml: config error, yaml file contains list of type other than map: b (line 4, column 5: descriptors[1])',
  ],
  [
    limited('unit: day, requests_per_unit: 0.5'),
    'a.yaml: error checking config (line 3, column 40: descriptors[0].rate_limit.requests_per_unit)',
  ],
  [
    limited('unit: day, requests_per_unit: many'),
    'a.yaml: error loading config file: requests_per_unit: expected a whole number from 0 to 4294967295, got "many" (line 3, column 40: descriptors[0].rate_limit.requests_per_unit)',
  ],
  [
    one('{ key: k, metadata: [1] }'),
    'a.yaml: error parsing metadata: expected a map, got a list (line 3, column 15: descriptors[0].metadata)',
  ],
  [
    one('{ key: k, metadata: { a: { 1: x } } }'),
    'a.yaml: error parsing metadata: key is not of type string: 1 (line 3, column 15: descriptors[0].metadata)',
  ],
  [
    one('{ key: k, shadow_mode: maybe }'),
    'a.yaml: error loading config file: shadow_mode: expected true or false, got "maybe" (line 3, column 15: descriptors[0].shadow_mode)',
  ],
  [
    'domain: [\n\ndescriptors: []',
    'a.yaml: error loading config file: Flow sequence in block collection must be sufficiently indented and end with a ] (line 3, column 1)',
  ],
  [
    'domain: a\ndescriptors:\n\t- key: a',
    'a.yaml: error loading config file: Tabs are not allowed as indentation (line 3, column 1)',
  ],
  [
    'domain: a\ndescriptors: []\n---\ndomain: b',
    'a.yaml: error loading config file: expected one document, got several (line 3, column 1)',
  ],
  [
    limited('unit: day, requests_per_unit: 1, algorithm: magic'),
    'a.yaml: error loading config file: algorithm: expected one of concurrency, fixed-window, gcra, leaky-bucket, sliding-window-counter, sliding-window-log, token-bucket, got "magic" (line 3, column 62: descriptors[0].rate_limit.algorithm)',
  ],
  [
    limited('unit: day, requests_per_unit: 1, capacity: 5'),
    'a.yaml: error loading config file: capacity: expected one of the algorithms gcra, leaky-bucket, token-bucket beside it, got fixed-window (line 3, column 62: descriptors[0].rate_limit.capacity)',
  ],
  [
    limited('unit: day, period: 5s, requests_per_unit: 1'),
    'a.yaml: error loading config file: period: expected either period or unit, got both (line 3, column 40: descriptors[0].rate_limit.period)',
  ],
  [
    limited('period: soon, requests_per_unit: 1'),
    'a.yaml: error loading config file: period: expected a time such as 250ms, 90s, 5m or 1h, got "soon" (line 3, column 29: descriptors[0].rate_limit.period)',
  ],
  [
    limited('unit: year, unit_multiplier: 4000, requests_per_unit: 1'),
    expect.stringMatching(/^a\.yaml: error loading config file: rate_limit: expected .*, got /) as unknown as string,
  ],
];

const isOfSchema = new Ajv({ strict: false }).compile(ENVOY_SCHEMA);
const isYaml = (text: string): boolean => parseDocument(text).errors.length === 0;

describe('the schema for editors', () => {
  test.each([
    one('{ key: k }'),
    one('{ key: 5, value: 404, rate_limit: { unit: Minute, requests_per_unit: 0 } }'),
    one('{ key: k, rate_limit: { unlimited: true, replaces: [{ name: n }] } }'),
    one("{ key: k, value: 'a*b', share_threshold: true, shadow_mode: true, metadata: { a: [1] } }"),
    one('{ key: k, rate_limit:, descriptors: [{ key: n, quota_mode: true, rate_limit: { unit: WEEK } }] }'),
    limited('period: 90s, requests_per_unit: 4'),
    limited('unit: day, unit_multiplier: 3, requests_per_unit: 4, algorithm: gcra, burst: 2'),
    readFileSync(new URL('../../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url), 'utf8'),
  ])('takes what the reader takes: %s', (text) => {
    expect(linesOf(text)).toEqual([]);
    expect(isOfSchema(parse(text)), JSON.stringify(isOfSchema.errors)).toBe(true);
  });

  test('is printed by the command, and the one that comes with the package', async () => {
    const { code, out } = await run(['schema', '--envoy']);
    expect([code, JSON.parse(out)]).toEqual([0, JSON.parse(JSON.stringify(ENVOY_SCHEMA))]);
    const file = new URL('../../examples/ratelimit.schema.json', import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(out));
  });
});

describe('what is wrong', () => {
  test.each(BAD)('%j', (text, ...lines) => {
    expect(linesOf(text)).toEqual(lines);
  });

  /** What no editor can know from the form of each value: duplicates, names of one's own, times too long, keys of metadata. */
  const HIDDEN = /duplicate|name of same descriptor|rate_limit: expected|key is not of type string: 1 /;
  const seen = BAD.filter(([text]) => isYaml(text) && !HIDDEN.test(linesOf(text).join()));
  test.each(seen)('the schema for editors sees it too: %j', (text) => {
    expect(seen.length).toBeGreaterThan(20);
    expect(isOfSchema(parse(text))).toBe(false);
  });

  test('all of it is told, not only the first', () => {
    const lines = linesOf(
      'domain: shop\ntypo: 1\ndescriptors:\n  - { value: x }\n  - { key: k, rate_limit: { unit: foo } }\n  - { key: k }',
    );
    expect(lines.map((line) => line.replace(/ \(line (\d+),.*/, ' $1'))).toEqual([
      "a.yaml: config error, unknown key 'typo' 2",
      'a.yaml: descriptor has empty key 4',
      "a.yaml: invalid rate limit unit 'foo' 5",
      "a.yaml: duplicate descriptor composite key 'shop.k' 6",
    ]);
  });
});

describe('several files', () => {
  const first = one('{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }');
  const second = one('{ key: b, rate_limit: { unit: day, requests_per_unit: 2 } }');
  const other = 'domain: other\ndescriptors: []';
  const own = 'policies: { api: { algorithm: gcra, limit: 1, period: 1s } }';

  test('one domain in each, beside policies', () => {
    const { config, files } = readConfigs([
      ...[first, other, own].map((text, index) => ({ file: `${index}.yaml`, text })),
    ]);
    expect([...config!.envoy!.keys()]).toEqual(['shop', 'other']);
    expect(config!.policies.size).toBe(1);
    expect(files).toContainEqual({ file: '0.yaml', policies: 0, rules: 0, domain: 'shop', limits: 1 });
  });

  test('a domain twice is a problem', () => {
    expect(linesOf(first, second)).toEqual([
      "b.yaml: duplicate domain 'shop' in config file (line 1, column 1: domain)",
    ]);
  });

  test('unless domains are merged', () => {
    const read = (...texts: string[]) =>
      readConfigs(
        texts.map((text, index) => ({ file: `${index}.yaml`, text })),
        { MERGE_DOMAIN_CONFIG: 'true' },
      );
    const { config } = read(first, second);
    expect(dumpDomains(config!.envoy!)).toBe(
      'shop.a: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false\n' +
        'shop.b: unit=DAY requests_per_unit=2, shadow_mode: false, quota_mode: false\n',
    );
    expect(read(first, first).problems.map(problemText)).toEqual([
      "1.yaml: duplicate descriptor composite key 'shop.a' (line 3, column 5: descriptors[0])",
    ]);
  });
});

test.each([
  ['with a byte order mark', `\uFEFF${one('{ key: k }')}`],
  ['with the line ends of Windows', one('{ key: k }').replaceAll('\n', '\r\n')],
  ['as JSON', '{\n  "descriptors": [{ "key": "k" }],\n  "domain": "shop"\n}'],
  ['with nothing in its lists', limited('unit: day, requests_per_unit: 1, replaces:')],
  ['of a domain alone', 'domain: shop'],
])('a file %s', (_, text) => {
  const { config, problems } = readConfigs([{ file: 'a.yaml', text }]);
  expect(problems).toEqual([]);
  expect([...config!.envoy!.keys()]).toEqual(['shop']);
});

test('everything a file may hold, written as people write it', () => {
  const text = `
---
domain: "shop"   # one document
descriptors:
  - key: status
    value: 404
    rate_limit: &limit
      unit: Minute
      requests_per_unit: 0x10
      name: not-found
    shadow_mode: yes
    quota_mode: off
    detailed_metric: true
    value_to_metric: false
    metadata: { owner: { team: core, since: 2020-01-01 }, 'on': [1, null, 0.5] }
    descriptors:
      - key: user
        value: 007
        rate_limit: *limit
  - key: flag
    value: no
    rate_limit: { unlimited: true }
  - key: pattern
    value: a*
    share_threshold: true
    rate_limit:
      <<: *limit
      replaces: [{ name: other }]
  - key: nothing
    rate_limit:
    descriptors:
`;
  const { config, problems } = readConfigs([{ file: 'a.yaml', text }]);
  expect(problems).toEqual([]);
  expect(dumpDomains(config!.envoy!).split('\n')).toEqual([
    'shop.status_404: unit=MINUTE requests_per_unit=16, shadow_mode: true, quota_mode: false',
    'shop.status_404.user_007: unit=MINUTE requests_per_unit=16, shadow_mode: false, quota_mode: false',
    'shop.flag_no: unlimited, shadow_mode: false, quota_mode: false',
    'shop.pattern_a*: unit=MINUTE requests_per_unit=16, shadow_mode: false, quota_mode: false',
    '',
  ]);
  const rule = config!.envoy!.get('shop')!.nodes[0]!.rule!;
  expect(rule).toMatchObject({ name: 'not-found', detailedMetric: true, metadata: { on: [1, null, 0.5] } });
});
