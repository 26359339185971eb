/** `sluice backtest`: what it prints, writes and answers, on logs that are made here. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from '../run.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-backtest-'));
afterAll(() => rmSync(folder, { recursive: true }));

const combined = (ip: string, second: number, path = '/'): string =>
  `${ip} - - [17/May/2015:10:05:${String(second).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" 200 12 "-" "curl"`;

/** One client asks 10 times in a second, another once a second. */
const LINES = [
  ...Array.from({ length: 10 }, () => combined('10.0.0.1', 0, '/login')),
  ...Array.from({ length: 10 }, (_, second) => combined('10.0.0.2', second, '/<b>')),
];
const log = join(folder, 'access.log');
writeFileSync(log, `${LINES.join('\n')}\nthis is no line of a log\n`);

const POLICY = ['--policy', 'token-bucket capacity=4 refillRate=1/s'];

describe('what it says', () => {
  test('counts, clients, paths, peaks, bad lines, and what whole seconds cannot tell', async () => {
    const { code, out } = await run(['backtest', log, ...POLICY]);
    expect(code).toBe(0);
    expect(out).toContain('nginx or Apache, combined, 21 lines');
    expect(out).toMatch(
      /1 line could not be read. The first of them:\n {2}\S+access.log:21: is cut off, or not of this format: this is no line/,
    );
    expect(out).toContain('20 requests from 2 clients');
    expect(out).toMatch(/token-bucket capacity 4, refillRate 1\/s +14 +6 +30 % +0 +1 +50 % /);
    expect(out).toMatch(/10\.0\.0\.1 +6 +10\n/);
    expect(out).toMatch(/\/login +6 +10/);
    expect(out).toContain('with their true times it denies 5 to 7 requests and 1 of the clients');
  });

  test('several policies in one pass, as JSON', async () => {
    const { out } = await run(['backtest', log, ...POLICY, '--policy', 'fixed-window limit=100 window=1m', '--json']);
    const { policies, lines, isWholeSeconds } = JSON.parse(out);
    expect(policies.map(({ allowed, denied, bounds }: never) => ({ allowed, denied, bounds }))).toEqual([
      { allowed: 14, denied: 6, bounds: { denied: [5, 7], clientsDenied: [1, 1] } },
      { allowed: 20, denied: 0, bounds: 'exact' },
    ]);
    expect([lines.lines, lines.bad, isWholeSeconds]).toEqual([21, 1, true]);
  });

  test('a folder, another key, a cost', async () => {
    const logs = join(folder, 'logs');
    mkdirSync(join(logs, 'old'), { recursive: true });
    const line = (second: number, tokens: number) =>
      JSON.stringify({ time: 1431857100 + second + 0.5, org: 'a', tokens, more: 1 });
    writeFileSync(join(logs, 'one.json'), `${line(0, 10)}\n${line(2, 10)}\n`);
    writeFileSync(join(logs, 'old', 'two.json'), `${line(1, 10)}\n`);
    const args = [
      '--key',
      'field:org',
      '--cost',
      'tokens+more',
      '--policy',
      'fixed-window limit=25 window=1m',
      '--json',
    ];
    const { requests, units, policies } = JSON.parse((await run(['backtest', logs, ...args])).out);
    expect([requests, units, policies[0].allowed, policies[0].deniedUnits]).toEqual([3, 33, 2, 11]);
    expect(policies[0].mostDenied).toEqual([{ key: 'a', requests: 3, denied: 1 }]);
  });
});

describe('what it writes', () => {
  test('--denied has every denied line, with policy and retryAfter', async () => {
    const file = join(folder, 'denied.jsonl');
    await run(['backtest', log, ...POLICY, '--denied', file]);
    const denied = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(denied).toHaveLength(6);
    expect(denied[0]).toEqual({ policy: 'token-bucket capacity 4, refillRate 1/s', retryAfter: 1, line: LINES[0] });
  });

  test('--html is one page that fetches nothing, and takes nothing of a log for markup', async () => {
    const file = join(folder, 'report.html');
    await run(['backtest', log, ...POLICY, '--html', file, '--key', 'route']);
    const page = readFileSync(file, 'utf8');
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).not.toMatch(/<b>|(?:src|href)=|https?:/);
    expect(page).toContain('data-course=');
  });
});

describe('--fail-if', () => {
  test.each([
    ['clients-denied > 10%', 1],
    ['clients-denied > 50%', 0],
    ['clients-denied >= 50 %', 1],
    ['requests-denied > 5', 1],
    ['peak-second < 100', 1],
    ['bad-lines > 1', 0],
  ])('%s ends with %i', async (condition, wanted) => {
    const { code, error } = await run(['backtest', log, ...POLICY, '--fail-if', condition]);
    expect(code).toBe(wanted);
    if (wanted === 1) expect(error).toContain(`${condition} holds for token-bucket`);
  });
});

describe('a config', () => {
  const config = join(folder, 'policies.yaml');
  writeFileSync(
    config,
    `policies:
  login: { algorithm: fixed-window, limit: 3, window: 1m }
  all: { algorithm: fixed-window, limit: 8, window: 1m, plans: { pro: { limit: 1000 } } }
rules:
  - { name: health, match: { path: /healthz }, unlimited: true }
  - { name: login, match: { path: /login }, key: ip, policy: login, cost: 1 }
  - { name: rest, key: ip, policy: all, plan: 'header:x-plan' }
`,
  );

  test('its rules, keys and costs decide, all policies of an attempt together', async () => {
    const { out } = await run(['backtest', log, '--config', config, '--json']);
    const counts = JSON.parse(out).policies.map(({ name, allowed, denied }: never) => [name, allowed, denied]);
    // What login denies is not spent from all: 3 of 10.0.0.1, 8 of 10.0.0.2.
    expect(counts).toEqual([
      ['the whole config', 11, 9],
      ['login', 3, 7],
      ['all', 11, 2],
    ]);
  });

  test('plans come from the headers that a log has', async () => {
    const file = join(folder, 'plans.log');
    const line = (plan: string) => `10.0.0.9 [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" "${plan}"`;
    writeFileSync(
      file,
      [...Array.from({ length: 10 }, () => line('pro')), ...Array.from({ length: 2 }, () => line('-'))].join('\n'),
    );
    const format = '$remote_addr [$time_local] "$request" "$http_x_plan"';
    const { out } = await run(['backtest', file, '--format', format, '--config', config, '--json']);
    expect(JSON.parse(out).policies[0]).toMatchObject({ allowed: 10, denied: 2 });
  });
});

describe('mistakes', () => {
  test.each([
    [['backtest'], 'which log?'],
    [['backtest', log], 'expected --policy or --config, got neither'],
    [
      ['backtest', log, '--policy', 'token-buket capacity=1'],
      'there is no algorithm "token-buket". Did you mean token-bucket?',
    ],
    [
      ['backtest', log, '--policy', 'token-bucket capcity=1'],
      'token-bucket has no field "capcity". Did you mean capacity?',
    ],
    [['backtest', log, '--policy', 'token-bucket capacity=0 refillRate=1'], '--policy.capacity'],
    [
      ['backtest', log, '--policy', 'concurrency limit=5 ttl=10s'],
      'concurrency cannot be tried on a log: it limits requests that run at',
    ],
    [['backtest', log, ...POLICY, '--key', 'colour'], '--key: expected a key of ip'],
    [
      ['backtest', log, ...POLICY, '--fail-if', 'denied'],
      "--fail-if: expected NAME > NUMBER or NUMBER%, such as 'clients-denied > 0.1%'",
    ],
    [['backtest', log, ...POLICY, '--format', 'colour'], 'there is no format "colour"'],
    [['backtest', log, ...POLICY, '--key', 'field:colour'], 'the log has no field "colour"'],
    [['backtest', log, ...POLICY, '--window', 'soon'], '--window: expected a time such as 30s'],
  ])('%j', async (args, message) => {
    const { code, error } = await run(args);
    expect([code, error]).toEqual([2, expect.stringContaining(message)]);
  });

  test('a file that is not there', async () => {
    expect(await run(['backtest', join(folder, 'nowhere.log'), ...POLICY])).toMatchObject({
      code: 3,
      error: expect.stringContaining('ENOENT'),
    });
  });
});
