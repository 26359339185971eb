/** Time that passes only when a test lets it, and a store that writes down what it is asked. */
import { type Decision, type ManualClock, manualClock, type Policy, type Store, type Timers } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { decisionOf, resultOf, type Verdict } from '../../src/model/result.ts';
import { type Answer, type Change, type Check, checksOf } from '../../src/model/store.ts';

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

type Told = Partial<Verdict> & { readonly changed?: number | undefined };

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
  const say = (policy: Policy, told: Told): Decision => decisionOf(ruleOf(policy), now, { ...YES, ...told });
  const carryOut = async (changes: readonly Change[]): Promise<Answer> => {
    const told = await Promise.all(changes.map(change));
    const decisions = told.map((each, index): Decision => {
      return { ...say(changes[index]!.policy, each), changed: each.changed ?? 0 };
    });
    return resultOf(decisions, 'store');
  };
  return {
    decided,
    changed,
    ask(question) {
      switch (question.verb) {
        case 'attempt': {
          const checks = checksOf(question).map(({ key, policy, cost }) => ({ key, policy, cost }));
          decided.push(checks);
          const decisions = checks.map((check) => say(check.policy, decide(check)));
          return resultOf(decisions, 'store');
        }
        case 'change':
          changed.push([...question.changes]);
          return carryOut(question.changes);
        case 'forget': {
          const decisions = question.policies.map((policy) => say(policy, {}));
          return resultOf(decisions, 'store');
        }
        case 'history':
          return { ...resultOf([say(question.policy, {})], 'store'), history: [] };
      }
    },
  };
}

/** The same store, where attempts go another way. */
export function withAttempts(store: Store, attempt: Store['ask']): Store {
  return { ask: (question) => (question.verb === 'attempt' ? attempt(question) : store.ask(question)) };
}
