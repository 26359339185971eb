/** Time that passes only when a test lets it, and a store that writes down what it is asked. */
import { type Change, type Check, type ManualClock, manualClock, type Store, type Timers } from '../../src/index.ts';
import type { Verdict, Verdicts } from '../../src/model/store.ts';

export interface VirtualTimers extends Timers {
  readonly clock: ManualClock;
  /** Sleeps that were asked for, in milliseconds, and how many are not over. */
  readonly slept: readonly number[];
  readonly pending: number;
  /** Lets time pass from sleeper to sleeper until nobody sleeps, or until that many milliseconds are on the clock. */
  run(untilMs?: number): Promise<void>;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
}

/** Sleepers wake in the order of their times, and everything that follows from one has happened before the next one wakes. */
export function virtualTimers(clock: ManualClock = manualClock(0)): VirtualTimers {
  const sleepers = new Set<Sleeper>();
  const slept: number[] = [];
  return {
    clock,
    slept,
    get pending() {
      return sleepers.size;
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        slept.push(ms);
        if (signal.aborted) return resolve();
        const wake = () => {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const sleeper = { at: Math.round((clock.now() + ms) * 1e3) / 1e3, wake };
        sleepers.add(sleeper);
        signal.addEventListener('abort', wake);
      }),
    async run(untilMs = Number.POSITIVE_INFINITY) {
      for (;;) {
        await settled();
        const [next] = [...sleepers].sort((one, other) => one.at - other.at);
        if (next === undefined || next.at > untilMs) break;
        clock.set(next.at);
        next.wake();
      }
      if (untilMs < Number.POSITIVE_INFINITY) clock.set(untilMs);
    },
  };
}

/** Everything that does not wait for time has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface RecordingStore extends Store {
  readonly decided: Check[][];
  readonly changed: Change[][];
}

type Told = Partial<Verdict>;

const YES: Verdict = { allowed: true, remaining: 5, retryAfter: 0, resetAfter: 5_000_000, delay: 0 };

/** Answers every check and change with what it is told, or with a yes; a promise that never comes, or fails, stands for a lost reply. */
export function recordingStore({
  now = 1_763_280_000_123_456,
  decide = () => ({}),
  change = () => ({}),
}: {
  readonly now?: number;
  readonly decide?: (check: Check) => Told;
  readonly change?: (change: Change) => Told | Promise<never>;
} = {}): RecordingStore {
  const decided: Check[][] = [];
  const changed: Change[][] = [];
  return {
    decided,
    changed,
    decide: (checks) => {
      decided.push([...checks]);
      return { now, verdicts: checks.map((check) => ({ ...YES, ...decide(check) })), source: 'store' };
    },
    change: async (changes): Promise<Verdicts> => {
      changed.push([...changes]);
      const told = await Promise.all(changes.map(change));
      return { now, verdicts: told.map((verdict) => ({ ...YES, changed: 0, ...verdict })), source: 'store' };
    },
    forget: () => {},
    history: () => [],
  };
}
