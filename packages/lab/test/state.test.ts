/** What is drawn is what the library says: the state told from recorded answers equals a look of a real limiter at the same moment. */
import { createLimiter, manualClock, memoryStore } from 'sluice';
import { describe, expect, test } from 'vitest';
import { Lab } from '../src/lab/lab.ts';
import type { Draft } from '../src/model/kind.ts';
import { genericKind } from '../src/model/kinds/generic.ts';
import { KINDS, kindsWith } from '../src/model/kinds/index.ts';
import { INITIAL_LIMIT } from '../src/model/limit.ts';
import { rowOf } from '../src/model/row.ts';
import { eachGranted, stateAt } from '../src/model/state.ts';
import { INITIAL_SETUP } from '../src/setup/setup.ts';
import { Trace } from '../src/trace/trace.ts';
import { randomFrom } from '../src/traffic/random.ts';
import type { TrafficKind } from '../src/traffic/traffic.ts';

const ODD: Record<string, Draft> = {
  'fixed-window': { limit: '7', window: '3s', align: 'first' },
  'sliding-window-counter': { limit: '13', window: '7s' },
  'token-bucket': { capacity: '5', refillRate: '100/m' },
  'leaky-bucket-policing': { capacity: '4', leakRate: '0.3' },
  'leaky-bucket-shaping': { capacity: '6', leakRate: '3' },
  gcra: { limit: '3', period: '1s', capacity: '7' },
};
const LOG = 'sliding-window-log';

const RUNS: readonly { name: string; kind: TrafficKind; rate: number; cost: number; own: typeof ODD }[] = [
  { name: 'steady above the limit', kind: 'steady', rate: 30, cost: 1, own: {} },
  { name: 'random', kind: 'poisson', rate: 20, cost: 1, own: {} },
  { name: 'random, other limits', kind: 'poisson', rate: 40, cost: 2, own: ODD },
  { name: 'in bursts', kind: 'bursty', rate: 30, cost: 1, own: ODD },
  { name: 'around the edges of windows', kind: 'boundary', rate: 10, cost: 1, own: {} },
];

describe.each(RUNS)('traffic $name', ({ kind, rate, cost, own }) => {
  test('states are those of a limiter that was asked the same', async () => {
    const lab = new Lab({ ...INITIAL_SETUP, own, cost, traffic: { kind, rate, seed: 5 } });
    const random = randomFrom(11);
    const clock = manualClock(0);
    const limiters = lab.rows.map(({ charges }) =>
      createLimiter({ policy: charges[0]!.policy, store: memoryStore({ clock }) }),
    );
    let asked = 0;
    for (let moment = 0; moment < 400; moment += 1) {
      await lab.advance(Math.round(random() * 300_000) / 1000);
      for (; asked < lab.trace.length; asked += 1) {
        clock.set(lab.trace.at[asked]!);
        for (const limiter of limiters) await limiter.attempt('client', { cost });
      }
      clock.set(lab.now);
      for (const [index, { id }] of lab.rows.entries()) {
        const look = await limiters[index]!.attempt('client', { cost: 0 });
        const state = lab.state(id);
        expect({ id, at: lab.now, remaining: state.remaining }).toEqual({ id, at: lab.now, remaining: look.remaining });
        if (id !== 'sliding-window-counter') expect(state.resetAfter / 1000).toBeCloseTo(look.resetAfter, 6);
      }
      const log = limiters[lab.rows.findIndex(({ id }) => id === LOG)]!;
      expect(admissions(lab)).toEqual((await log.history('client')).map(({ at }) => Math.round(at * 1e6)));
    }
    expect(asked).toBeGreaterThan(50);
  });
});

/** The times in the log's picture, one for each arrival, oldest first, in microseconds. */
function admissions(lab: Lab): number[] {
  const { window } = lab.state(LOG);
  const times = new Set<number>();
  eachGranted(lab.trace, LOG, 0, lab.trace.length - 1, lab.now - window!.size, (at) => {
    times.add(Math.round(at * 1000));
  });
  return [...times].reverse();
}

const statesOf = (lab: Lab) => lab.rows.map(({ id }) => ({ ...lab.state(id), row: id }));

test('any moment of the past looks as it did then', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'poisson', rate: 40, seed: 3 } });
  const seen: { at: number; states: unknown; facts: unknown }[] = [];
  const facts = () =>
    lab.rows.map(({ id }) => [lab.facts().worst(id), lab.facts().longestWait(id), lab.facts().sent()]);
  for (let moment = 0; moment < 50; moment += 1) {
    await lab.advance(700);
    seen.push({ at: lab.now, states: statesOf(lab), facts: facts() });
  }
  for (const { at, states, facts: then } of seen.reverse()) {
    lab.look(at);
    expect(statesOf(lab)).toEqual(states);
    expect(facts()).toEqual(then);
  }
});

test('another policy answers the same arrivals anew', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 40, seed: 3 } });
  const counts = (id: string) => lab.trace.countsUpTo(id, 0, lab.trace.length);
  await lab.advance(9_000);
  expect(counts('token-bucket')).toEqual({ allowed: 19, delayed: 0, denied: 18 });
  await lab.configure('token-bucket', { capacity: '20', refillRate: '1' });
  expect(counts('token-bucket')).toEqual({ allowed: 29, delayed: 0, denied: 8 });
  expect(counts('gcra')).toEqual({ allowed: 19, delayed: 0, denied: 18 });
  expect(lab.row('token-bucket').deviates).toBe(true);
  await lab.configure('token-bucket', undefined);
  expect(counts('token-bucket')).toEqual({ allowed: 19, delayed: 0, denied: 18 });
  expect(lab.row('token-bucket').deviates).toBe(false);
});

test('one limit is the limit of all rows, and a row with numbers of its own keeps them', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, own: { gcra: { limit: '5', period: '10s', capacity: '3' } } });
  await lab.send(30);
  await lab.changeLimit({ units: 20, window: 10_000, burst: 8 });
  const allowed = Object.fromEntries(lab.rows.map(({ id }) => [id, lab.facts().allowed(id)]));
  expect(allowed).toEqual({
    ...{ 'fixed-window': 20, 'sliding-window-log': 20, 'sliding-window-counter': 20 },
    ...{ 'token-bucket': 8, 'leaky-bucket-policing': 8, 'leaky-bucket-shaping': 8, gcra: 3 },
  });
  expect(lab.rows.filter(({ deviates }) => deviates).map(({ id }) => id)).toEqual(['gcra']);
  await lab.changeLimit({ units: 100, window: 60_000, burst: 20 });
  expect([lab.trace.length, lab.rate]).toEqual([0, 6]);
});

describe.each(KINDS)('the shared limit as $id', (kind) => {
  test.each([
    { units: 10, window: 10_000, burst: 10 },
    { units: 100, window: 60_000, burst: 20 },
    { units: 5, window: 900_000, burst: 5 },
    { units: 7, window: 13_000, burst: 3 },
    { units: 1, window: 86_400_000, burst: 1 },
  ])('$units in $window ms', (limit) => {
    const { meant, deviates } = rowOf(kind, limit);
    expect({ meant, deviates }).toEqual({ meant: { units: limit.units, window: limit.window }, deviates: false });
    const again = kind.meant(rowOf(kind, limit, kind.draftOf(limit)).numbers, limit.window);
    expect(again.units).toBeCloseTo(limit.units, 9);
    expect(again.window).toBe(limit.window);
  });
});

test('the worst window and the longest wait are those of all that happened', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.advance(9_500);
  await lab.send(10);
  await lab.advance(600);
  await lab.send(10);
  const facts = lab.facts();
  expect(lab.rows.map(({ id }) => [id, facts.worst(id), Math.round(facts.longestWait(id))])).toEqual([
    ['fixed-window', 20, 0],
    ['sliding-window-log', 10, 9_400],
    ['sliding-window-counter', 11, 900],
    ['token-bucket', 10, 400],
    ['leaky-bucket-policing', 10, 400],
    ['gcra', 10, 400],
    ['leaky-bucket-shaping', 10, 9_000],
  ]);
});

test.each([
  { units: 7, window: 13_000, burst: 7 },
  { units: 100, window: 60_000, burst: 30 },
])('slots of a queue are never more than $units in a window, however they are rounded', async (limit) => {
  const lab = new Lab({ ...INITIAL_SETUP, limit, traffic: { kind: 'poisson', rate: 3 * limit.units, seed: 4 } });
  for (let step = 0; step < 100; step += 1) await lab.advance(limit.window / 10);
  expect(lab.facts().worst('leaky-bucket-shaping')).toBe(limit.units);
});

test('an algorithm that is only declared gets a row behind those that are drawn', () => {
  const fields = { capacity: { kind: 'count' }, debt: { kind: 'count' }, repayRate: { kind: 'rate' } } as const;
  const kinds = kindsWith([
    { algorithm: 'debt-bucket', fields },
    { algorithm: 'gcra', fields: {} },
  ]);
  expect(kinds.map(({ id }) => id)).toEqual([...KINDS.map(({ id }) => id), 'debt-bucket']);
  const kind = kinds.at(-1)!;
  expect([kind.title, kind.factory, kind.draftOf(INITIAL_LIMIT)]).toEqual([
    'Debt bucket',
    'debtBucket',
    { capacity: '10', debt: '10', repayRate: '1' },
  ]);
});

test('an algorithm that the lab has never heard of has a row, a form and a level', async () => {
  const kind = genericKind({
    algorithm: 'gcra',
    title: 'Debt bucket',
    fields: { limit: { kind: 'count' }, period: { kind: 'duration' }, capacity: { kind: 'count' } },
  });
  const row = rowOf(kind, INITIAL_LIMIT);
  expect([row.title, row.summary, kind.fields.map(({ label }) => label)]).toEqual([
    'Debt bucket',
    'limit 10, period 10 s, capacity 10',
    ['Limit', 'Period', 'Capacity'],
  ]);
  const clock = manualClock(0);
  const limiter = createLimiter({ policy: row.charges[0]!.policy, store: memoryStore({ clock }) });
  const trace = new Trace([row]);
  for (const at of [0, 400, 900, 900, 2_300]) {
    clock.set(at);
    trace.append({ at, client: 0, cost: 2 }, [await limiter.attempt('client', { cost: 2 })], [row], 0);
  }
  for (const now of [2_300, 3_000, 4_700, 9_000, 12_000, 20_000]) {
    clock.set(now);
    const look = await limiter.attempt('client', { cost: 0 });
    // Told from whole numbers, so a unit at most apart between two answers.
    expect(Math.abs(stateAt(trace, row, 0, now, 0).remaining - look.remaining)).toBeLessThanOrEqual(1);
  }
  expect(stateAt(trace, row, 0, 20_000, 0).remaining).toBe(10);
});
