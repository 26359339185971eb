/** Counts are those of an oracle that was written without the library's rules, to the request, on random logs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  algorithms,
  calendarQuota,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from 'sluice';
import { afterAll, describe, expect, test } from 'vitest';
import { backtest } from '../../src/log-files/backtest.ts';
import {
  bucketOracle,
  calendarOracle,
  counterOracle,
  fixedOracle,
  gcraOracle,
  logOracle,
  type OracleRequest,
  oracle,
  queueOracle,
  randomFrom,
} from './oracle.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-oracle-'));
afterAll(() => rmSync(folder, { recursive: true }));

const S = 1e6;
const ALGORITHMS: readonly (readonly [name: string, policy: Policy, make: Parameters<typeof oracle>[0]])[] = [
  ['token bucket', tokenBucket({ capacity: 8, refillRate: 2 }), bucketOracle(8, 2)],
  ['leaky bucket', leakyBucket({ capacity: 5, leakRate: 1 }), bucketOracle(5, 1)],
  ['leaky bucket that shapes', leakyBucket({ capacity: 6, leakRate: 2, mode: 'shaping' }), queueOracle(6, S / 2)],
  ['GCRA', gcra({ limit: 10, period: '10s', capacity: 4 }), gcraOracle(4, S)],
  ['fixed window', fixedWindow({ limit: 6, window: '10s' }), fixedOracle(6, 10 * S)],
  ['sliding window counter', slidingWindowCounter({ limit: 7, window: '7s' }), counterOracle(7, 7 * S)],
  ['sliding window log', slidingWindowLog({ limit: 5, window: '5s' }), logOracle(5, 5 * S)],
  ['calendar quota', calendarQuota({ limit: 90, every: 'month' }), calendarOracle(90, '2026-10'.length)],
  ['calendar quota of hours', calendarQuota({ limit: 80, every: 'hour' }), calendarOracle(80, '2026-10-01T00'.length)],
];

/** A log does not say when a request ended, so a limit on how many run at the same time cannot be tried: `backtest` says so. */
const NOT_TRIED = ['concurrency'];

test('every algorithm of the library is here', () => {
  const tried = ALGORITHMS.map(([, { algorithm }]) => algorithm);
  expect([...new Set([...tried, ...NOT_TRIED])].sort()).toEqual(algorithms.map(({ name }) => name).sort());
});

/** Shortly before a month ends. */
const START = Date.UTC(2026, 8, 30, 23, 55) * 1e3;

interface LogShape {
  readonly name: string;
  readonly wholeSeconds: boolean;
  readonly costs: boolean;
  /** Seconds that a line may be late. */
  readonly late: number;
}

const SHAPES: readonly LogShape[] = [
  { name: 'in order, to the microsecond', wholeSeconds: false, costs: false, late: 0 },
  { name: 'out of order', wholeSeconds: false, costs: false, late: 20 },
  { name: 'out of order, whole seconds, many equal times', wholeSeconds: true, costs: false, late: 20 },
  { name: 'out of order, with costs', wholeSeconds: false, costs: true, late: 8 },
];

/** In the order of the log. */
function randomRequests(seed: number, { wholeSeconds, costs, late }: LogShape): OracleRequest[] {
  const random = randomFrom(seed);
  const requests: (OracleRequest & { readonly written: number })[] = [];
  let time = START;
  for (let index = 0; index < 4000; index += 1) {
    time += random() < 0.3 ? 0 : Math.floor(random() ** 3 * S);
    const client = `10.0.0.${Math.floor(random() ** 2 * 12)}`;
    const cost = costs ? Math.floor(random() * 4) : 1;
    requests.push({
      time: wholeSeconds ? Math.floor(time / S) * S : time,
      client,
      cost,
      written: time + random() * late * S,
    });
  }
  return requests.sort((one, other) => one.written - other.written);
}

function logText(requests: readonly OracleRequest[]): string {
  return requests
    .map(({ time, client, cost }) => {
      const date = new Date(Math.floor(time / 1e3)).toISOString().slice(0, 19);
      return JSON.stringify({ time: `${date}.${String(time % S).padStart(6, '0')}Z`, ip: client, cost, path: '/a' });
    })
    .join('\n');
}

describe.each(SHAPES)('$name', (shape) => {
  test.each([1, 2, 3])('seed %i: every algorithm, in one pass', async (seed) => {
    const requests = randomRequests(seed * 7919, shape);
    const file = join(folder, `${SHAPES.indexOf(shape)}-${seed}.log`);
    writeFileSync(file, logText(requests));
    const report = await backtest([file], {
      policies: ALGORITHMS.map(([, policy]) => policy),
      ...(shape.costs ? { cost: ['cost'] } : {}),
    });
    expect(report.lines).toEqual({ lines: 4000, skipped: 0, bad: 0, late: 0 });
    for (const [index, [name, , make]] of ALGORITHMS.entries()) {
      const wanted = oracle(make, requests);
      const got = report.policies[index]!;
      expect({ name, allowed: got.allowed, denied: got.denied, delayed: got.delayed }).toEqual({
        name,
        allowed: wanted.allowed,
        denied: wanted.denied,
        delayed: wanted.delayed,
      });
      expect(wanted.denied, `${name} denies some, or this shows nothing`).toBeGreaterThan(10);
      expect(got.clientsDenied).toBe(wanted.deniedOf.size);
      for (const { key, denied } of got.mostDenied) expect([key, denied]).toEqual([key, wanted.deniedOf.get(key)]);
    }
  });
});

describe('what whole seconds cannot tell lies within the bounds', () => {
  test.each([1, 2, 3, 4, 5, 6])('seed %i', async (seed) => {
    const truth = randomRequests(seed * 104_729, SHAPES[0]!);
    const floored = truth.map((each) => ({ ...each, time: Math.floor(each.time / S) * S }));
    const file = join(folder, `floored-${seed}.log`);
    writeFileSync(file, logText(floored));
    const report = await backtest([file], { policies: ALGORITHMS.map(([, policy]) => policy) });
    expect(report.isWholeSeconds).toBe(true);
    for (const [index, [name, , make]] of ALGORITHMS.entries()) {
      const { denied, deniedOf } = oracle(make, truth);
      const { bounds, denied: got } = report.policies[index]!;
      if (bounds === 'exact' || bounds === undefined) expect([name, got]).toEqual([name, denied]);
      else {
        expect(bounds.denied[0], name).toBeLessThanOrEqual(denied);
        expect(bounds.denied[1], name).toBeGreaterThanOrEqual(denied);
        expect(bounds.clientsDenied[0], name).toBeLessThanOrEqual(deniedOf.size);
        expect(bounds.clientsDenied[1], name).toBeGreaterThanOrEqual(deniedOf.size);
      }
    }
  });
});

describe('how it is read makes no difference', () => {
  test('several files, packed files, standard input and workers give the same counts', async () => {
    const requests = randomRequests(31, SHAPES[1]!);
    const whole = join(folder, 'whole.log');
    writeFileSync(whole, logText(requests));
    const { gzipSync } = await import('node:zlib');
    const { Readable } = await import('node:stream');
    const packed = join(folder, 'packed-without-a-name');
    writeFileSync(packed, gzipSync(logText(requests)));
    // Every third line goes to another file: what one lacks the others have.
    const parts = [0, 1, 2].map((part) => {
      const file = join(folder, `part-${part}.log`);
      writeFileSync(file, logText(requests.filter((_, index) => index % 3 === part)));
      return file;
    });
    const options = { policies: ALGORITHMS.map(([, policy]) => policy) };
    const counts = ({ policies }: Awaited<ReturnType<typeof backtest>>) =>
      policies.map(({ allowed, denied, clientsDenied, peakSecond }) => ({
        allowed,
        denied,
        clientsDenied,
        peakSecond,
      }));
    const wanted = counts(await backtest([whole], options));
    expect(counts(await backtest([packed], options))).toEqual(wanted);
    expect(counts(await backtest(parts, options))).toEqual(wanted);
    expect(counts(await backtest([whole], { ...options, workers: 2 }))).toEqual(wanted);
    expect(counts(await backtest(parts, { ...options, workers: 3 }))).toEqual(wanted);
    expect(counts(await backtest(['-'], { ...options, input: Readable.from([logText(requests)]) }))).toEqual(wanted);
    expect(counts(await backtest(['-'], { ...options, input: Readable.from([gzipSync(logText(requests))]) }))).toEqual(
      wanted,
    );
  });

  test('more clients than a worker knows by number', async () => {
    const lines = Array.from({ length: 260_000 }, (_, index) => {
      const client = index < 230_000 ? index : index % 1000;
      const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
      return `${address} - - [17/May/2026:10:${String(Math.floor(index / 5000)).padStart(2, '0')}:00 +0000] "GET /${index % 7} HTTP/1.1" 200 1`;
    });
    const file = join(folder, 'many.log');
    writeFileSync(file, lines.join('\n'));
    const options = { policies: [slidingWindowLog({ limit: 20, window: '1h' })], bounds: false };
    const here = await backtest([file], { ...options, workers: 1 });
    const there = await backtest([file], { ...options, workers: 2 });
    expect(here.clients).toBe(230_000);
    expect(here.policies[0]!.denied).toBeGreaterThan(1000);
    expect({
      ...there,
      policies: there.policies.map(({ mostDenied: _, routes: __, ...rest }) => rest),
      busiest: [],
    }).toEqual({
      ...here,
      policies: here.policies.map(({ mostDenied: _, routes: __, ...rest }) => rest),
      busiest: [],
    });
  });
});
