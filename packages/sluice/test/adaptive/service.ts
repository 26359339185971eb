/** A service with so many workers and a line before them, on virtual time: what a limit in front of it allows, and how much of that ends in time. */
import { type ManualClock, manualClock } from '../../src/index.ts';
import { randomFrom } from '../support/random.ts';

/** What the simulation needs of a limit. */
export interface Gate {
  enter(priority: string): { readonly allowed: boolean; release(outcome?: 'done' | 'dropped'): void };
}

export interface Phase {
  readonly seconds: number;
  readonly workers: number;
  /** How long a worker needs for a request, in milliseconds, on average. */
  readonly serviceMs: number;
  /** Requests a second, and of what priorities. */
  readonly rate: number;
  readonly priorities?: readonly string[];
}

export interface Tally {
  readonly allowed: number;
  readonly denied: number;
  /** Ended within the time in which anybody still wanted the answer. */
  readonly good: number;
}

const PATIENCE_MS = 500;

interface Running {
  readonly arrived: number;
  readonly priority: string;
  readonly permit: ReturnType<Gate['enter']>;
}

/** One tally for each phase, by priority. */
export function simulate(
  gateOf: (clock: ManualClock) => Gate,
  phases: readonly Phase[],
  seed = 7,
): ReadonlyMap<string, Tally>[] {
  const random = randomFrom(seed);
  const clock = manualClock(0);
  const gate = gateOf(clock);
  const line: Running[] = [];
  const busy: (Running & { readonly endsAt: number })[] = [];
  let now = 0;
  const exponential = (mean: number): number => -Math.log(1 - random.real()) * mean;

  return phases.map(({ seconds, workers, serviceMs, rate, priorities = ['any'] }) => {
    const tallies = new Map(priorities.map((name) => [name, { allowed: 0, denied: 0, good: 0 }]));
    const until = now + seconds * 1000;
    const start = (): void => {
      while (busy.length < workers && line.length > 0) {
        // Half of the time is the same for all, half is not.
        const endsAt = now + serviceMs / 2 + exponential(serviceMs / 2);
        busy.push({ ...line.shift()!, endsAt });
        busy.sort((one, other) => one.endsAt - other.endsAt);
      }
    };
    let nextAt = now + exponential(1000 / rate);
    while (Math.min(nextAt, busy[0]?.endsAt ?? until) < until) {
      if (busy[0] !== undefined && busy[0].endsAt <= nextAt) {
        const { endsAt, arrived, priority, permit } = busy.shift()!;
        now = endsAt;
        clock.set(now);
        const isGood = now - arrived <= PATIENCE_MS;
        permit.release(isGood ? 'done' : 'dropped');
        if (isGood && tallies.has(priority)) tallies.get(priority)!.good += 1;
      } else {
        now = nextAt;
        clock.set(now);
        nextAt = now + exponential(1000 / rate);
        const priority = random.pick(priorities);
        const permit = gate.enter(priority);
        tallies.get(priority)![permit.allowed ? 'allowed' : 'denied'] += 1;
        if (permit.allowed) line.push({ arrived: now, priority, permit });
      }
      start();
    }
    now = until;
    return tallies;
  });
}

/** A limit that stays as it is. */
export function fixedGate(limit: number): Gate {
  let inFlight = 0;
  return {
    enter() {
      if (inFlight >= limit) return { allowed: false, release: () => {} };
      inFlight += 1;
      return {
        allowed: true,
        release: () => {
          inFlight -= 1;
        },
      };
    },
  };
}
