/** Inner stores that misbehave on command, and time that passes on command. The layer around them is what is tested. */
import { expect } from 'vitest';
import {
  type HistoryEntry,
  type MemoryStore,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import type { WakeAfter } from '../../src/layers/index.ts';
import { type MaybePromise, proceed } from '../../src/model/maybe-promise.ts';
import { resultOf } from '../../src/model/result.ts';
import { type Answer, attemptOf, type Change, type Check } from '../../src/model/store.ts';
import { type Seen, seenOf } from '../support/asking.ts';

export type { Seen } from '../support/asking.ts';

export const bucket = tokenBucket({ capacity: 10, refillRate: 1 });

export const check = (policy: Policy = bucket, cost = 1, key = 'someone'): Check => ({ key, policy, cost });

/**
 * An answer in whole microseconds. People read its own numbers and not only those of its decisions, so all of them have to be what
 * `resultOf` makes of the decisions.
 */
export function told(answer: Answer): Seen {
  const { history: _, ...result } = answer;
  expect(result).toEqual(resultOf(answer.decisions, answer.source));
  return seenOf(answer);
}

/** The four questions, asked of any store. What comes back is a promise only where the store's answer is one. */
export function decide(store: MemoryStore, checks: readonly Check[], options?: { readonly dryRun?: boolean }): Seen;
export function decide(
  store: Store,
  checks: readonly Check[],
  options?: { readonly dryRun?: boolean },
): MaybePromise<Seen>;
export function decide(
  store: Store,
  checks: readonly Check[],
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): MaybePromise<Seen> {
  return proceed(store.ask(attemptOf(checks, dryRun)), told);
}

export function change(store: Store, changes: readonly Change[]): MaybePromise<Seen> {
  return proceed(store.ask({ verb: 'change', changes }), told);
}

export function forget(store: Store, key: string, policies: readonly Policy[]): MaybePromise<Seen> {
  return proceed(store.ask({ verb: 'forget', key, policies }), told);
}

export function history(store: Store, key: string, policy: Policy): MaybePromise<readonly HistoryEntry[]> {
  const question = { verb: 'history', key, policy, after: Number.NEGATIVE_INFINITY, most: 1000 } as const;
  return proceed(store.ask(question), (answer) => {
    told(answer);
    return answer.history!;
  });
}

/** The same store, but every answer has to be waited for, as over a network. */
export function waitedFor(store: Store): Store {
  return { ask: async (question) => store.ask(question) };
}

/** Counts what reaches the store: the verb of each question. */
export function counting(store: Store): Store & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    ask(question) {
      calls.push(question.verb);
      return store.ask(question);
    },
  };
}

/** What a store does with every question until it is told otherwise. */
export type Behaviour = 'answers' | 'throws' | 'rejects' | 'hangs';

export interface Puppet extends Store {
  behaves: Behaviour;
  error: unknown;
  calls: number;
  /** Settles the calls that hang, in the order they came. */
  settle(outcome: 'answer' | Error): void;
}

/** A memory store with a will of its own. */
export function puppet(store: Store = waitedFor(memoryStore({ clock: manualClock(0) }))): Puppet {
  const hanging: { answer(): void; fail(error: Error): void }[] = [];
  const self: Puppet = {
    behaves: 'answers',
    error: new Error('connection lost'),
    calls: 0,
    settle(outcome) {
      for (const { answer, fail } of hanging.splice(0)) outcome === 'answer' ? answer() : fail(outcome);
    },
    ask(question) {
      self.calls += 1;
      switch (self.behaves) {
        case 'answers':
          return store.ask(question);
        case 'throws':
          throw self.error;
        case 'rejects':
          return Promise.reject(self.error);
        case 'hangs':
          return new Promise<Answer>((resolve, reject) => {
            hanging.push({ answer: () => resolve(store.ask(question)), fail: reject });
          });
      }
    },
  };
  return self;
}

/** A clock whose passing wakes those who asked for it, in order. */
export function manualTimers() {
  const clock = manualClock(1000);
  const asleep: { at: number; wake: () => void }[] = [];
  const wakeAfter: WakeAfter = (ms, wake) => {
    asleep.push({ at: clock.now() + ms, wake });
  };
  return {
    clock,
    wakeAfter,
    get wound(): number {
      return asleep.length;
    },
    pass(ms: number): void {
      clock.advance(ms);
      for (const due of asleep.filter(({ at }) => at <= clock.now())) {
        asleep.splice(asleep.indexOf(due), 1);
        due.wake();
      }
    },
  };
}

/** Whether an answer has come, once everything that can run has run: 'pending', 'answered', or the code or message of its error. */
export async function stateOf(answer: unknown): Promise<string> {
  let state = 'pending';
  Promise.resolve(answer).then(
    () => {
      state = 'answered';
    },
    (error: { code?: string; message: string }) => {
      state = error.code ?? error.message;
    },
  );
  await new Promise((resolve) => setImmediate(resolve));
  return state;
}
