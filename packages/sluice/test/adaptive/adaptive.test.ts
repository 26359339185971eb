/** A limit that follows latency: it finds what a service can do, also when that changes, and sheds what is least important first. */
import { describe, expect, test } from 'vitest';
import { adaptiveLimit, aimd, type Controller, gradient2, type Sample, vegas } from '../../src/adaptive/index.ts';
import { type ManualClock, manualClock } from '../../src/index.ts';
import { fixedGate, type Phase, simulate } from './service.ts';

const CONTROLLERS: Readonly<Record<string, () => Controller>> = {
  vegas: () => vegas(),
  gradient2: () => gradient2(),
  aimd: () => aimd({ timeout: 250 }),
};
const MINUTE_MS = 60_000;
const SHARES = { interactive: 1, batch: 0.5 } as const;
type Priority = keyof typeof SHARES;

/** The simulation's gate, and the limits it had. */
function following(controller: Controller) {
  const limits: number[] = [];
  const gateOf = (clock: ManualClock) => {
    const limit = adaptiveLimit({ controller, priorities: SHARES, clock, onChange: (now) => limits.push(now) });
    return {
      enter: (priority: string) => limit.enter(priority === 'any' ? {} : { priority: priority as Priority }),
    };
  };
  return { gateOf, limits };
}

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;

describe.each(Object.entries(CONTROLLERS))('%s', (_, controllerOf) => {
  /** 20 workers of 50 ms serve 400 a second. */
  const busy: Phase = { seconds: 60, workers: 20, serviceMs: 50, rate: 400 };

  test('overload at three times the capacity: close to the best limit there is, and far above none', () => {
    const phases = [busy, { ...busy, rate: 1200 }];
    const good = (gateOf: Parameters<typeof simulate>[0]): number => simulate(gateOf, phases)[1]!.get('any')!.good;
    const best = Math.max(...[10, 20, 30, 60].map((limit) => good(() => fixedGate(limit))));
    const own = good(following(controllerOf()).gateOf);
    expect(own / best).toBeGreaterThan(0.9);
    expect(good(() => fixedGate(Number.POSITIVE_INFINITY)) / best).toBeLessThan(0.1);
  });

  test('a step of the capacity is found, down and up', () => {
    const { gateOf, limits } = following(controllerOf());
    const seen: number[][] = [[], [], []];
    const phase = (workers: number): Phase => ({ ...busy, rate: 1200, workers });
    const [first, second, third] = simulate(
      (clock) => {
        const gate = gateOf(clock);
        return {
          enter(priority) {
            seen[Math.floor(clock.now() / MINUTE_MS)]!.push(limits.at(-1) ?? 20);
            return gate.enter(priority);
          },
        };
      },
      [phase(40), phase(8), phase(40)],
    ).map((tallies) => tallies.get('any')!.good);
    // Of what the workers can do in a minute.
    expect(first! / (40 * 20 * 60)).toBeGreaterThan(0.8);
    expect(second! / (8 * 20 * 60)).toBeGreaterThan(0.8);
    expect(third! / (40 * 20 * 60)).toBeGreaterThan(0.8);
    // What it was in the second half of each minute.
    const settled = seen.map((limitsOfMinute) => middle(limitsOfMinute.slice(limitsOfMinute.length / 2)));
    expect(settled[1]!).toBeLessThan(settled[0]! * 0.75);
    expect(settled[2]!).toBeGreaterThan(settled[1]! * 1.3);
  });

  test('what is least important is shed first', () => {
    const priorities = ['interactive', 'batch'];
    const [, tallies] = simulate(following(controllerOf()).gateOf, [
      { ...busy, priorities },
      { ...busy, rate: 700, priorities },
    ]);
    const served = (name: string): number => {
      const { allowed, denied } = tallies!.get(name)!;
      return allowed / (allowed + denied);
    };
    expect(served('interactive')).toBeGreaterThan(0.85);
    expect(served('batch')).toBeLessThan(0.5);
    // No priority is starved for good.
    expect(served('batch')).toBeGreaterThan(0);
  });

  test('is pure: the same samples, the same states', () => {
    const samples: Sample[] = Array.from({ length: 300 }, (_, at) => ({
      inFlight: 5 + (at % 40),
      rtt: 20 + ((at * 37) % 50),
      dropped: at % 29 === 0,
    }));
    const play = () => {
      const { first, next } = controllerOf();
      return samples.reduce((state, sample) => next(state, sample), first);
    };
    expect(play()).toEqual(play());
    expect(Number.isFinite(play().limit)).toBe(true);
  });

  test('stays as it is while it is not used, and within its bounds', () => {
    const { first, next } = controllerOf();
    let state = first;
    for (let at = 0; at < 100; at += 1) state = next(state, { inFlight: 2, rtt: 20, dropped: false });
    expect(state.limit).toBe(first.limit);
    for (let at = 0; at < 500; at += 1) state = next(state, { inFlight: 20, rtt: 20, dropped: true });
    expect(state.limit).toBe(1);
  });
});

describe('a limit', () => {
  test('gives so many places, each back once', () => {
    const limit = adaptiveLimit({ controller: vegas({ initial: 2 }), clock: manualClock(0) });
    const [one, two, three] = [limit.enter(), limit.enter(), limit.enter()];
    expect([one.allowed, two.allowed, three.allowed, limit.inFlight]).toEqual([true, true, false, 2]);
    three.release();
    one.release();
    one.release('dropped');
    expect(limit.inFlight).toBe(1);
    two[Symbol.dispose]();
    expect([limit.inFlight, limit.limit]).toEqual([0, 2]);
  });

  test('learns from windows of requests that ended, not from those that are ignored', () => {
    const clock = manualClock(0);
    const samples: Sample[] = [];
    const controller: Controller = {
      first: { limit: 100, baseRtt: 0, age: 0 },
      next(state, sample) {
        samples.push(sample);
        return state;
      },
    };
    const limit = adaptiveLimit({ controller, clock });
    for (let at = 0; at < 10; at += 1) {
      const [wanted, wrong] = [limit.enter(), limit.enter()];
      clock.set(clock.now() + 20);
      wanted.release(at === 4 ? 'dropped' : 'done');
      wrong.release('ignored');
    }
    expect(samples).toEqual([{ inFlight: 2, rtt: 20, dropped: true }]);
  });

  test('a small share of a small limit is still a place', () => {
    const limit = adaptiveLimit({ controller: vegas({ initial: 1 }), priorities: { low: 0.1 } });
    expect(limit.enter({ priority: 'low' }).allowed).toBe(true);
  });

  test.each<[() => unknown, string]>([
    [() => adaptiveLimit({ priorities: { low: 0 } }), 'adaptiveLimit.priorities.low'],
    [() => adaptiveLimit({ priorites: {} } as object), 'adaptiveLimit.priorites'],
    [() => adaptiveLimit({ controller: {} as Controller }), 'adaptiveLimit.controller'],
    [() => adaptiveLimit({ onChange: 5 as never }), 'adaptiveLimit.onChange'],
    [() => adaptiveLimit({ priorities: { low: 1 } }).enter({ priority: 'lo' as 'low' }), 'enter.priority.lo'],
    [() => vegas({ min: 5, max: 4 }), 'vegas.min'],
    [() => vegas({ initial: 0 }), 'vegas.initial'],
    [() => vegas({ probe: 0 }), 'vegas.probe'],
    [() => gradient2({ tolerance: 1 }), 'gradient2.tolerance'],
    [() => gradient2({ queue: -1 }), 'gradient2.queue'],
    [() => aimd({ backoff: 1 }), 'aimd.backoff'],
    [() => aimd({ timeout: 0 }), 'aimd.timeout'],
  ])('case %# is refused with its path', (make, path) => {
    expect(make).toThrow(expect.objectContaining({ path }));
  });
});
