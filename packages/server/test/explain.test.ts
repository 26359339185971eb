/** Which rules match a request, and what it spends: the sample config, row by row. */

import { readFileSync } from 'node:fs';
import { ruleOf } from 'sluice/store';
import { describe, expect, test } from 'vitest';
import { explain } from '../src/config/explain.ts';
import { readConfig } from '../src/config/read-config.ts';

const sample = readConfig(readFileSync(new URL('../examples/policies.yaml', import.meta.url), 'utf8')).config!;
const NOW = Date.parse('2027-01-01T00:00:00Z');
const LATER = Date.parse('2099-01-31T12:00:00Z');

interface Row {
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly now?: number;
  /** key policy:limit cost */
  readonly spends: readonly string[];
}

const ROWS: readonly Row[] = [
  { request: 'GET /health', spends: [] },
  { request: 'GET /HEALTH/', spends: [] },
  { request: 'GET /', spends: ['ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'] },
  {
    request: 'GET /',
    headers: { 'x-api-key': 'k' },
    spends: ['header:x-api-key:k api:100 1', 'header:x-api-key:k daily:10000 1'],
  },
  { request: 'GET /', headers: { 'x-plan': 'pro' }, spends: ['ip:9.9.9.9 api:1000 1', 'ip:9.9.9.9 daily:1000000 1'] },
  { request: 'GET /', headers: { 'x-plan': 'trial' }, spends: ['ip:9.9.9.9 api:10 1', 'ip:9.9.9.9 daily:10000 1'] },
  { request: 'GET /', headers: { 'x-plan': 'what' }, spends: ['ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'] },
  {
    request: 'POST /session/new?x=1',
    spends: ['all:ip:9.9.9.9|path:POST /session/new login:5 1', 'ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'],
  },
  // Some servers resolve these, and some do not: the login is limited for both, under one key.
  ...[
    '/x/../login',
    '/./login',
    '/%2e/login',
    '/x/%2e%2e/login',
    '/login/.',
    '/login;a=1',
    '/x\\..\\login',
    '//x/..//LOGIN',
  ].map((path) => ({
    request: `POST ${path}`,
    spends: ['all:ip:9.9.9.9|path:POST /login login:5 1', 'ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'],
  })),
  // And nobody is free of limits by a path that only some take for the free one.
  ...['/api/../health', '/health/../api', '/health;x', '/./health', '/api\\..\\health'].map((path) => ({
    request: `GET ${path}`,
    spends: ['ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'],
  })),
  {
    request: 'POST /session/100%25;a=1?b',
    spends: ['all:ip:9.9.9.9|path:POST /session/100%25 login:5 1', 'ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'],
  },
  { request: 'GET /login', spends: ['ip:9.9.9.9 api:100 1', 'ip:9.9.9.9 daily:10000 1'] },
  {
    request: 'GET /search/a/b',
    headers: { 'x-api-key': 'partner-1' },
    spends: [
      'header:x-api-key:partner-1 search:10 2',
      'header:x-api-key:partner-1 api:5000 1',
      'header:x-api-key:partner-1 daily:10000 1',
    ],
  },
  {
    request: 'GET /',
    headers: { 'x-api-key': 'partner-1' },
    now: LATER,
    spends: ['header:x-api-key:partner-1 api:100 1', 'header:x-api-key:partner-1 daily:10000 1'],
  },
];

const explained = (config: typeof sample, { request, headers = {}, now = NOW }: Omit<Row, 'spends'>) => {
  const [method, path] = request.split(' ') as [string, string];
  return explain(config, { method, path, ip: '9.9.9.9', header: (name) => headers[name] }, now);
};

test.each(ROWS)('$request $headers', (row) => {
  const { spends } = explained(sample, row);
  const told = spends.map(({ key, policy, cost }) => {
    return `${key} ${policy.name}:${ruleOf(policy).limit} ${cost}`;
  });
  expect(told).toEqual(row.spends);
});

describe('in words', () => {
  const config = readConfig(`
policies:
  api: { algorithm: token-bucket, capacity: 5, refillRate: 1/s }
rules:
  - { name: posts, match: { method: POST }, key: ip, policy: api }
  - { name: beta, match: { header: { x-beta: "yes" } }, key: ip, policy: api, cost: 3 }
  - { name: no bots, match: { header: { user-agent: bot* } }, key: ip, policy: api }
  - { name: keyed, match: { path: /keyed }, key: header:x-api-key, policy: api }
  - { name: all, key: ip, policy: api }
`).config!;

  test('why a rule does not match', () => {
    expect(explained(config, { request: 'GET /', headers: { 'x-beta': 'no' } }).text.split('\n')).toEqual([
      'GET /',
      '  no   posts: its method is GET, not POST',
      '  no   beta: its header x-beta is "no", not "yes"',
      '  no   no bots: it has no header user-agent',
      '  no   keyed: its path is /, not /keyed',
      '  yes  all',
      '         api: token-bucket capacity 5, refillRate 1/s, cost 1, key "ip:9.9.9.9" (its own numbers)',
      'Limited by api: spends from all of them or from none.',
    ]);
  });

  test('one state in two rules is spent from once, at the higher cost', () => {
    const { spends } = explained(config, { request: 'POST /', headers: { 'x-beta': 'yes' } });
    expect(spends.map(({ cost }) => cost)).toEqual([3]);
  });

  test('a request that does not say who it is', () => {
    const { text } = explained(config, { request: 'GET /keyed' });
    expect(text).toContain('yes  keyed: but there is no key: the request has nothing for header:x-api-key');
    expect(text).toContain('Refused with 400');
  });
});
