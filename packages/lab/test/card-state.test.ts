/** What is drawn is what the library says: the state told from recorded answers equals a look of a real limiter at the same moment. */
import { createLimiter, manualClock, memoryStore } from 'sluice';
import { describe, expect, test } from 'vitest';
import { CARD_IDS, type CardId, type Draft } from '../src/cards/catalog.ts';
import { eachGranted } from '../src/engine/card-state.ts';
import { Lab } from '../src/engine/lab.ts';
import { INITIAL_SETUP } from '../src/share/share.ts';
import { randomFrom } from '../src/traffic/random.ts';
import type { TrafficKind } from '../src/traffic/traffic.ts';

const ODD: Partial<Record<CardId, Draft>> = {
  'fixed-window': { limit: '7', window: '3s', align: 'first' },
  'sliding-window-counter': { limit: '13', window: '7s' },
  'token-bucket': { capacity: '5', refillRate: '100/m' },
  'leaky-bucket-policing': { capacity: '4', leakRate: '0.3' },
  'leaky-bucket-shaping': { capacity: '6', leakRate: '3' },
  gcra: { limit: '3', period: '1s', capacity: '7' },
};

const RUNS: readonly { name: string; kind: TrafficKind; rate: number; cost: number; drafts: typeof ODD }[] = [
  { name: 'steady above the limit', kind: 'steady', rate: 3, cost: 1, drafts: {} },
  { name: 'random', kind: 'poisson', rate: 2, cost: 1, drafts: {} },
  { name: 'random, other limits', kind: 'poisson', rate: 4, cost: 2, drafts: ODD },
  { name: 'in bursts', kind: 'bursty', rate: 3, cost: 1, drafts: ODD },
  { name: 'around the edges of windows', kind: 'boundary', rate: 1, cost: 1, drafts: {} },
];

describe.each(RUNS)('traffic $name', ({ kind, rate, cost, drafts }) => {
  test('states are those of a limiter that was asked the same', async () => {
    const setup = { ...INITIAL_SETUP, drafts: { ...INITIAL_SETUP.drafts, ...drafts }, cost };
    const lab = new Lab({ ...setup, traffic: { kind, rate, seed: 5 } });
    const random = randomFrom(11);
    const clock = manualClock(0);
    const limiters = CARD_IDS.map((id) => createLimiter({ policy: lab.policies[id], store: memoryStore({ clock }) }));
    let asked = 0;
    for (let moment = 0; moment < 400; moment += 1) {
      await lab.advance(Math.round(random() * 300_000) / 1000);
      for (; asked < lab.trace.length; asked += 1) {
        clock.set(lab.trace.at[asked]!);
        for (const limiter of limiters) await limiter.attempt('client', { cost });
      }
      clock.set(lab.now);
      for (const [index, id] of CARD_IDS.entries()) {
        const look = await limiters[index]!.attempt('client', { cost: 0 });
        const state = lab.state(id);
        expect({ id, at: lab.now, remaining: state.remaining }).toEqual({ id, at: lab.now, remaining: look.remaining });
        if (id !== 'sliding-window-counter') expect(state.resetAfter / 1000).toBeCloseTo(look.resetAfter, 6);
      }
      expect(admissions(lab)).toEqual((await limiters[1]!.history('client')).map(({ at }) => Math.round(at * 1e6)));
    }
    expect(asked).toBeGreaterThan(50);
  });
});

/** The times in the log's picture, one for each arrival, oldest first, in microseconds. */
function admissions(lab: Lab): number[] {
  const { window } = lab.state('sliding-window-log');
  const times = new Set<number>();
  eachGranted(lab.trace, 'sliding-window-log', 0, lab.trace.length - 1, lab.now - window!.size, (at) => {
    times.add(Math.round(at * 1000));
  });
  return [...times].reverse();
}

test('any moment of the past looks as it did then', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'poisson', rate: 4, seed: 3 } });
  const seen: { at: number; states: unknown }[] = [];
  for (let moment = 0; moment < 50; moment += 1) {
    await lab.advance(700);
    seen.push({ at: lab.now, states: CARD_IDS.map((id) => lab.state(id)) });
  }
  for (const { at, states } of seen.reverse()) {
    lab.look(at);
    expect(CARD_IDS.map((id) => lab.state(id))).toEqual(states);
  }
});

test('another policy answers the same arrivals anew', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 4, seed: 3 } });
  await lab.advance(9_000);
  expect(lab.trace.countsUpTo('token-bucket', 0, lab.trace.length)).toEqual({ allowed: 19, delayed: 0, denied: 18 });
  await lab.configure('token-bucket', { capacity: '20', refillRate: '1' });
  expect(lab.trace.countsUpTo('token-bucket', 0, lab.trace.length)).toEqual({ allowed: 29, delayed: 0, denied: 8 });
  expect(lab.trace.countsUpTo('gcra', 0, lab.trace.length)).toEqual({ allowed: 19, delayed: 0, denied: 18 });
});
