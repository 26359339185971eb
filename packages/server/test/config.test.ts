/** Configs: what is wrong with a file, all of it, with its line and path; and that the schema for editors agrees. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../src/config/read-config.ts';
import { CONFIG_SCHEMA } from '../src/config/schema.ts';

const isOfSchema = new Ajv({ strict: false }).compile(CONFIG_SCHEMA);
const sample = new URL('../examples/policies.yaml', import.meta.url);

const API = 'policies:\n  api: { algorithm: token-bucket, capacity: 5, refillRate: 1/s }\n';
const rule = (text: string): string => `${API}rules:\n  - ${text}\n`;
const override = (text: string): string => `${API}overrides:\n  - ${text}\n`;
const jwt = (text: string): string => `${API}jwt: ${text}\n`;
const ENVIRONMENT = { SECRET: 'a secret of some length', JWT_SECRET: 'another one of some length' };
const policy = (text: string): string => `policies:\n  api: ${text}\n`;

const quotas = (text: string): string =>
  `policies: { api: { algorithm: fixed-window, limit: 5, window: 1h }, quick: { algorithm: token-bucket, capacity: 5, refillRate: 1/s } }\nquotas: ${text}\n`;

/** Text, whether the schema sees it too, and each problem as line:column path: the beginning of the message. */
const BAD: readonly (readonly [text: string, seenBySchema: boolean, ...problems: string[]])[] = [
  ['', true, '1:1 : expected a map of policies, rules'],
  ['policies: {}', true, '1:1 policies: expected a map of at least one policy'],
  ['policies: []', true, '1:1 policies: expected a map of at least one policy'],
  [
    `${API}typo: 1`,
    true,
    '3:1 typo: no such field; there are policies, rules, overrides, exceptions, trustedProxies, jwt, quotas',
  ],
  [quotas('5'), true, '2:1 quotas: expected a list of at most 10000 quotas, got 5'],
  [quotas('[{ policy: api }]'), true, '2:10 quotas[0].match: expected a map of labels'],
  [quotas('[{ match: {}, policy: none }]'), false, '2:23 quotas[0].policy: expected the name of a policy'],
  [quotas('[{ match: {} }]'), true, '2:10 quotas[0].policy: expected the name of a policy, or blanket'],
  [quotas('[{ match: {}, blanket: allow, ttl: 1s }]'), false, '2:39 quotas[0].ttl: expected either blanket or policy'],
  [
    quotas('[{ match: {}, policy: quick }]'),
    false,
    '2:23 quotas[0].policy: units of quick cannot be handed out for 4 s',
  ],
  [quotas('[{ match: {}, policy: api, ttl: 1ms }]'), false, '2:36 quotas[0].ttl: expected a time from 100ms to 1h'],
  [policy('5'), true, '2:3 policies.api: expected a policy: a map with an algorithm'],
  [policy('{ algorithm: leaky }'), true, '2:10 policies.api.algorithm: expected one of calendar-quota, concurrency,'],
  [
    policy('{ algorithm: token-bucket, capacity: 0, refillRate: fast, burst: 3 }'),
    true,
    '2:35 policies.api.capacity: expected a whole number from 1',
    "2:48 policies.api.refillRate: expected a positive number of units a second, or text such as '10/s'",
    '2:66 policies.api.burst: no such field; there are algorithm, capacity, refillRate, visible, blockFor, plans, shadow',
  ],
  [
    policy('{ algorithm: gcra, limit: 5 }'),
    true,
    '2:3 policies.api.period: expected a positive number of milliseconds',
  ],
  [
    policy('{ algorithm: gcra, name: x, limit: 5, period: 1s }'),
    true,
    '2:27 policies.api.name: no such field: the name',
  ],
  [`policies:\n  a b: { algorithm: gcra, limit: 5, period: 1s }`, true, '2:3 policies.a b: expected a name of 1 to 64'],
  [
    policy('{ algorithm: gcra, limit: 5, period: 1s, shadow: yes }'),
    true,
    '2:49 policies.api.shadow: expected true or',
  ],
  [policy('{ algorithm: gcra, limit: 5, period: 1s, plans: 3 }'), true, '2:49 policies.api.plans: expected a map of'],
  [
    policy('{ algorithm: gcra, limit: 5, period: 1s, plans: { pro: { limit: -1, algorithm: gcra } } }'),
    true,
    '2:65 policies.api.plans.pro.limit: expected a whole number',
    '2:76 policies.api.plans.pro.algorithm: no such number; there are limit, ttl, window',
  ],
  [
    policy('{ algorithm: token-bucket, capacity: 5, refillRate: 1, plans: { pro: { capacity: 90000000000000 } } }'),
    false,
    '2:72 policies.api.plans.pro.refillRate: expected a rate that recovers',
  ],
  [
    policy('{ algorithm: token-bucket, capacity: 90000000000000, refillRate: 0.001 }'),
    false,
    '2:61 policies.api.refillRate: expected a rate that recovers',
  ],
  [rule('5'), true, '4:5 rules[0]: expected a map of name, match'],
  [rule('{ key: ip }'), true, '4:5 rules[0]: expected either policy or policies, got neither'],
  [rule('{ policy: api }'), true, '4:5 rules[0].key: expected a key made of ip, route'],
  [rule('{ key: moon, policy: api }'), false, '4:7 rules[0].key: expected ip, route'],
  [rule('{ key: header:x-forwarded-for, policy: api }'), false, '4:7 rules[0].key: byHeader(name): expected byIp'],
  [
    rule('{ key: ip, policies: [api, nope, api] }'),
    false,
    '4:32 rules[0].policies[1]: no such policy: "nope"',
    '4:38 rules[0].policies[2]: "api" is listed twice',
  ],
  [rule('{ key: ip, policy: api, cost: -1 }'), true, '4:29 rules[0].cost: expected a whole number of at least 0'],
  [
    rule('{ key: ip, policy: api, plan: pro }'),
    true,
    '4:29 rules[0].plan: expected header:NAME or claim:NAME, got "pro"',
  ],
  [
    rule('{ key: ip, policy: api, match: { path: x } }'),
    true,
    '4:38 rules[0].match.path: expected a path that begins with /',
  ],
  [
    rule('{ key: ip, policy: api, match: { path: /a*/b } }'),
    true,
    '4:38 rules[0].match.path: expected * as a whole segment',
  ],
  [
    rule('{ key: ip, policy: api, match: { path: /**/b } }'),
    true,
    '4:38 rules[0].match.path: expected * as a whole segment',
  ],
  [rule('{ key: ip, policy: api, match: { method: G T } }'), true, '4:38 rules[0].match.method: expected a method'],
  [
    rule('{ key: ip, policy: api, match: { header: { a: 5 } } }'),
    true,
    '4:48 rules[0].match.header.a: expected a value',
  ],
  [rule('{ unlimited: true, key: ip }'), true, '4:24 rules[0].key: not together with unlimited'],
  [override('{ key: a, policy: nope, limits: { limit: 1 } }'), false, '4:15 overrides[0].policy: no such policy'],
  [override('{ key: a, policy: api, limits: {} }'), true, '4:28 overrides[0].limits: expected numbers to change'],
  [
    override('{ key: a, policy: api, limits: { limit: 5 } }'),
    false,
    '4:38 overrides[0].limits.limit: no such number in it; there are capacity, refillRate',
  ],
  [
    override('{ key: a, policy: api, limits: { capacity: 5 }, until: tomorrow }'),
    true,
    '4:53 overrides[0].until: expected a moment',
  ],
  [
    override('{ key: a, policy: api, limits: { capacity: 5 }, until: 2027-01-01T12:00 }'),
    true,
    '4:53 overrides[0].until: expected a moment',
  ],
  [
    override('{ key: a, policy: api, limits: { capacity: 5 }, until: 2027-02-30 }'),
    false,
    '4:53 overrides[0].until: expected a moment',
  ],
  [
    rule('{ key: ip, policy: api, cost: 1e400 }'),
    true,
    '4:29 rules[0].cost: expected a whole number of at least 0, got Inf',
  ],
  [
    override('{ key: a, policy: api, limits: { capacity: 5 } }\n  - { key: a, policy: api, limits: { capacity: 6 } }'),
    false,
    '5:7 overrides[1].key: "a" already has an override of api',
  ],
  [`${API}trustedProxies: true`, true, '3:1 trustedProxies: byIp.trustedProxies: expected only your own proxies'],
  [rule('{ key: claim:sub, policy: api }'), false, '4:7 rules[0].key: expected a section jwt'],
  [rule('{ key: ip, policy: api, plan: claim:plan }'), false, '4:29 rules[0].plan: expected a section jwt'],
  [
    rule('{ key: ip, policy: api, match: { claim: { a: x } } }'),
    false,
    '4:38 rules[0].match.claim: expected a section',
  ],
  [
    `${jwt('{ unverified: true }')}rules: [{ key: ip, policy: api, match: { claim: 5 } }]`,
    true,
    '4:42 rules[0].match.claim: exp',
  ],
  [jwt('5'), true, '3:1 jwt: expected a map of from, keys'],
  [jwt('{}'), true, '3:1 jwt.keys: expected a list of keys, or unverified: true'],
  [jwt('{ keys: [] }'), true, '3:8 jwt.keys: expected a list of keys'],
  [jwt('{ unverified: true, keys: [{ algorithm: HS256, env: SECRET }] }'), true, '3:26 jwt.keys: not together with'],
  [jwt('{ from: cookie, unverified: true }'), true, '3:8 jwt.from: expected header:NAME, got "cookie"'],
  [
    jwt('{ keys: [{ algorithm: none, key: "0123456789abcdef" }] }'),
    true,
    '3:17 jwt.keys[0].algorithm: expected one of HS256',
  ],
  [jwt('{ keys: [{ algorithm: HS256 }] }'), true, '3:15 jwt.keys[0]: expected either key or env, got neither'],
  [
    jwt('{ keys: [{ algorithm: HS256, env: NOTHING }] }'),
    false,
    '3:35 jwt.keys[0].env: expected a variable that holds the key, got nothing in NOTHING',
  ],
  [
    jwt('{ keys: [{ algorithm: HS256, key: short }] }'),
    false,
    '3:35 jwt.keys[0].key: expected a secret of at least 16',
  ],
  [
    jwt('{ keys: [{ algorithm: RS256, key: "0123456789abcdef" }] }'),
    false,
    '3:35 jwt.keys[0].key: expected a public RSA key in PEM',
  ],
  [jwt('{ keys: [{ algorithm: HS256, env: SECRET }], issuer: 5 }'), true, '3:51 jwt.issuer: expected a text, got 5'],
  ['policies: {', true, '1:12 : Flow map'],
  ['policies: 1\npolicies: 2', true, '2:1 : Map keys must be unique'],
];

const asData = (text: string): unknown => {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
};

describe('a bad file', () => {
  const rows = BAD.map(([text, seenBySchema, ...expected]) => ({ text, seenBySchema, expected }));

  test.each(rows)('$text', ({ text, seenBySchema, expected }) => {
    const { config, problems } = readConfig(text, ENVIRONMENT);
    expect(config).toBeUndefined();
    const told = problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
    expect(told).toEqual(expected.map((text) => expect.stringContaining(text)));
    expect(isOfSchema(asData(text))).toBe(!seenBySchema);
  });

  test('that is a bomb of aliases is refused, not unfolded', () => {
    const levels = [...'bcdefghij'].map((name, index) => `${name}: &${name} [${`*${'abcdefghij'[index]},`.repeat(9)}]`);
    expect(readConfig(['a: &a [x,x,x,x,x,x,x,x,x]', ...levels].join('\n')).problems).toHaveLength(1);
  });
});

const GOOD: readonly string[] = [
  API,
  quotas("[{ match: { name: a, env: '*' }, policy: api, ttl: 5s, idle: 1m, strategy: requests_per_time_unit }]"),
  quotas('[{ domain: d, match: {}, blanket: deny }]'),
  policy('{ algorithm: fixed-window, limit: 5, window: 1000, align: first }'),
  policy('{ algorithm: sliding-window-log, limit: 5, window: 0.5s, shadow: true }'),
  policy('{ algorithm: sliding-window-counter, limit: 5, window: 1d }'),
  policy('{ algorithm: leaky-bucket, capacity: 5, leakRate: 600/m, mode: shaping }'),
  policy('{ algorithm: gcra, limit: 5, period: 1m, plans: { pro: { limit: 50, capacity: 9 } } }'),
  rule('{ key: header:x-api-key | ip + route, policies: [api], cost: 0, plan: header:x-plan }'),
  rule(
    '{ key: everyone, policy: api, match: { method: [get, POST], path: [/, /a/*/c, /b/**], header: { a: x*, b: true, c: false } } }',
  ),
  rule('{ unlimited: true, match: { path: /health } }'),
  override('{ key: "a: b", policy: api, limits: { capacity: 7 }, until: 2027-01-31, reason: why not }'),
  override('{ key: leap, policy: api, limits: { capacity: 7 }, until: 2028-02-29T24:00:00Z }'),
  'policies:\n  api: &api { algorithm: gcra, limit: 5, period: 1m }\n  other: { <<: *api, limit: 6 }\n  third: *api\n',
  `${API}trustedProxies: [10.0.0.0/8]\n`,
  jwt('{ unverified: true, from: header:x-token }'),
  `${jwt('{ keys: [{ algorithm: HS256, env: SECRET, kid: a }], issuer: me, audience: you }')}rules:
  - { key: "claim:https://me/org + route | ip", policy: api, plan: claim:plan, match: { claim: { a: x*, b.c: true, d: false } } }`,
  readFileSync(sample, 'utf8'),
  readFileSync(new URL('../examples/claims.yaml', import.meta.url), 'utf8'),
];

test.each(GOOD)('a good file: %s', (text) => {
  expect(readConfig(text, ENVIRONMENT).problems).toEqual([]);
  expect(isOfSchema(parse(text, { merge: true })), JSON.stringify(isOfSchema.errors)).toBe(true);
});

test('the schema beside the sample is the one that the command prints', () => {
  const file = new URL('../examples/policies.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(CONFIG_SCHEMA)));
});
