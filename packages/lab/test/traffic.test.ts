/** Traffic: deterministic, in order, at the rate it says, measured in windows. */
import { describe, expect, test } from 'vitest';
import { arrivalTimes, BOUNDARY_WIDTH, TRAFFIC_KINDS, type TrafficKind } from '../src/traffic/traffic.ts';

const TARGET = { limit: 10, window: 10_000, origin: 0 };
const WIDTH = BOUNDARY_WIDTH * TARGET.window;

function times(kind: TrafficKind, rate: number, until: number, start = 0, seed = 1): number[] {
  const iterator = arrivalTimes({ kind, rate, seed }, start, TARGET);
  const found: number[] = [];
  for (let at = iterator.next().value; at < until; at = iterator.next().value) found.push(at);
  return found;
}

const MADE = TRAFFIC_KINDS.filter((kind) => kind !== 'manual');

test.each(MADE)('%s is in order, from its start on, and the same each time', (kind) => {
  const found = times(kind, 50, 90_000, 1_234);
  expect(found.length).toBeGreaterThan(50);
  expect(found[0]).toBeGreaterThanOrEqual(1_234);
  expect(found).toEqual([...found].sort((one, other) => one - other));
  expect(times(kind, 50, 90_000, 1_234)).toEqual(found);
});

test.each(['steady', 'poisson', 'bursty', 'on-off', 'ramp'] as const)('%s keeps its rate on average', (kind) => {
  // A hundred turns of the longest period, 30 s; random traffic within four standard deviations.
  const expected = 3_000 * 5;
  const found = times(kind, 50, 3_000_000).length;
  expect(Math.abs(found - expected)).toBeLessThanOrEqual(kind === 'poisson' ? 4 * Math.sqrt(expected) : 25);
});

test('nothing comes by itself when requests are sent by hand', () => {
  expect(times('manual', 5, 1e9)).toEqual([]);
});

test('random traffic is another with another seed', () => {
  expect(times('poisson', 50, 10_000, 0, 1)).not.toEqual(times('poisson', 50, 10_000, 0, 2));
});

test.each(MADE)('%s in a window of an hour is the same, only slower', (kind) => {
  const slow = arrivalTimes({ kind, rate: 50, seed: 3 }, 0, { ...TARGET, window: 3_600_000 });
  const fast = arrivalTimes({ kind, rate: 50, seed: 3 }, 0, TARGET);
  for (let index = 0; index < 100; index += 1) expect(slow.next().value / 360).toBeCloseTo(fast.next().value, 3);
});

describe('the shapes', () => {
  test.each<[TrafficKind, number, number[]]>([
    ['steady', 20, [0, 500, 1000, 1500]],
    ['bursty', 6, [0, 0, 0]],
    ['on-off', 5, [0, 1000]],
    ['ramp', 1, [17_320.508, 24_494.897]],
  ])('%s', (kind, rate, first) => {
    const found = times(kind, rate, kind === 'ramp' ? 29_000 : 2_000);
    expect(found.map((at) => Math.round(at * 1000) / 1000)).toEqual(first);
  });

  test('the boundary attack sends one limit just before an edge and one just after, at every other edge', () => {
    const found = times('boundary', 1, 40_000);
    const around = (edge: number) => [
      found.filter((at) => at >= edge - WIDTH && at < edge).length,
      found.filter((at) => at >= edge && at < edge + WIDTH).length,
    ];
    expect([10_000, 20_000, 30_000].map(around)).toEqual([
      [10, 10],
      [0, 0],
      [10, 10],
    ]);
    expect(found).toHaveLength(40);
  });

  test('its edges are those of the clock, wherever the lab began', () => {
    const target = { ...TARGET, origin: 1_700_000_003_000 };
    const first = arrivalTimes({ kind: 'boundary', rate: 1, seed: 1 }, 0, target).next().value;
    expect(first).toBe(7_000 - WIDTH);
  });
});
