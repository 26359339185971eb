/** What is suggested keeps what was promised: exactly, on the same log, by the same rules. */
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixedWindow, type Policy, type Rate, slidingWindowCounter, slidingWindowLog, tokenBucket } from 'sluice';
import { afterAll, describe, expect, test } from 'vitest';
import { givenUp } from '../../src/backtest/suggest.ts';
import { backtest } from '../../src/log-files/backtest.ts';
import { suggest } from '../../src/log-files/suggest.ts';
import { run } from '../run.ts';
import { randomFrom } from './oracle.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-suggest-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Clients of very different appetites, whole seconds or not, with costs or not. */
function logFile(seed: number, wholeSeconds: boolean): string {
  const random = randomFrom(seed * 31337);
  const lines: string[] = [];
  let time = 1_790_000_000;
  for (let index = 0; index < 5000; index += 1) {
    time += random() ** 4 * 20;
    const client = Math.floor(random() ** 3 * 300);
    const at = wholeSeconds ? Math.floor(time) : Math.round(time * 1e6) / 1e6;
    for (let burst = random() < 0.02 ? Math.floor(random() * 15) : 0; burst >= 0; burst -= 1) {
      lines.push(
        JSON.stringify({ time: at, ip: `10.0.${client >> 8}.${client & 255}`, tokens: Math.floor(random() * 900) }),
      );
    }
  }
  const file = join(folder, `${seed}-${wholeSeconds}.log`);
  writeFileSync(file, lines.join('\n'));
  return file;
}

const CASES = [
  { seed: 1, wholeSeconds: false, keep: 0.99, costs: false },
  { seed: 2, wholeSeconds: true, keep: 0.95, costs: false },
  { seed: 3, wholeSeconds: false, keep: 0.999, costs: false },
  { seed: 4, wholeSeconds: false, keep: 0.9, costs: true },
  { seed: 5, wholeSeconds: true, keep: 1, costs: false },
];

describe.each(CASES)('%j', ({ seed, wholeSeconds, keep, costs }) => {
  test('every point of the curve denies exactly as many clients as it says, and one unit less denies too many', async () => {
    const file = logFile(seed, wholeSeconds);
    const options = costs ? { cost: ['tokens'] } : {};
    const found = await suggest([file], { keep, ...options });
    const most = givenUp(found.clients, keep);
    const points = [
      ...found.buckets.map((point) => ({ point, make: bucket(point.text) })),
      ...found.sliding.map((point) => ({ point, make: sliding(point.text) })),
      ...found.log.map((point) => ({ point, make: log(point.text) })),
      ...found.fixed.map((point) => ({ point, make: fixed(point.text) })),
    ];
    const policies = points.map(({ point, make }) => make(point.keep));
    const tighter = points.map(({ point, make }) => make(Math.max(1, point.keep - 1)));
    const report = await backtest([file], { policies: [...policies, ...tighter], bounds: false, ...options });
    for (const [index, { point }] of points.entries()) {
      const denied = report.policies[index]!.clientsDenied;
      expect([point.text, denied]).toEqual([point.text, point.clientsDenied]);
      expect(denied).toBeLessThanOrEqual(most);
      if (point.keep > 1)
        expect(report.policies[points.length + index]!.clientsDenied, point.text).toBeGreaterThan(most);
    }
    for (const { clientsDenied, clientsDeniedInBacktest, secondHalf } of found.suggestions) {
      expect(clientsDeniedInBacktest).toBe(clientsDenied);
      expect(secondHalf!.kept).toBeGreaterThan(0.5);
    }
  });
});

const bucket =
  (rate: string) =>
  (capacity: number): Policy =>
    tokenBucket({ capacity, refillRate: rate as Rate });
const sliding =
  (window: string) =>
  (limit: number): Policy =>
    slidingWindowCounter({ limit, window: window as '1m' });
const log =
  (window: string) =>
  (limit: number): Policy =>
    slidingWindowLog({ limit, window: window as '1m' });
const fixed =
  (window: string) =>
  (limit: number): Policy =>
    fixedWindow({ limit, window: window as '1m' });

test('the second half is met by the limits of the first', async () => {
  // Half of the clients come only later, and ask for twice as much.
  const lines = Array.from({ length: 400 }, (_, index) => {
    const isLate = index >= 200;
    const client = Math.floor((index % 200) / (isLate ? 4 : 2));
    return JSON.stringify({
      time: 1_790_000_000 + index * 0.001 + (isLate ? 1000 : 0),
      ip: `10.0.${Number(isLate)}.${client}`,
    });
  });
  const file = join(folder, 'halves.log');
  writeFileSync(file, lines.join('\n'));
  const { suggestions, clients } = await suggest([file], { keep: 1 });
  expect(clients).toBe(150);
  // A bucket that refills between two requests of a client is met by nobody; a window counts them all.
  for (const { secondHalf } of suggestions.slice(1)) {
    expect(secondHalf).toMatchObject({ clients: 50, clientsDenied: 50, kept: 0 });
  }
});

describe('on the command line', () => {
  const file = logFile(7, false);

  test('a table, where it bends, YAML that a config takes, and both shares', async () => {
    const { code, out } = await run(['suggest', file, '--keep', '99%']);
    expect(code).toBe(0);
    expect(out).toContain('the curve bends here');
    expect(out).toMatch(/from the first half, it keeps of the second\ntoken-bucket capacity \d+.*\d % \(\d+ of \d+\)/);
    const config = join(folder, 'suggested.yaml');
    writeFileSync(config, out.slice(out.indexOf('policies:')));
    expect(await run(['check', config])).toMatchObject({ code: 0 });
  });

  test('what comes from standard input cannot be tried a second time, and is not', async () => {
    const { suggestions } = await suggest(['-'], { input: createReadStream(file) });
    expect(suggestions[0]).toMatchObject({ denied: undefined, secondHalf: undefined });
    const { suggestions: tried } = await suggest([file]);
    expect(tried[0]!.policy).toEqual(suggestions[0]!.policy);
    expect(tried[0]!.denied).toBeTypeOf('number');
  });

  test.each(['99', '0%', '101%', 'all'])('--keep %s is no share', async (keep) => {
    expect(await run(['suggest', file, '--keep', keep])).toMatchObject({
      code: 2,
      error: expect.stringContaining('99.9%'),
    });
  });
});
