/** Inner stores that misbehave on command, and time that passes on command. The layer around them is what is tested. */
import { type Check, manualClock, memoryStore, type Policy, type Store, tokenBucket } from '../../src/index.ts';
import type { WakeAfter } from '../../src/layers/index.ts';

export const bucket = tokenBucket({ capacity: 10, refillRate: 1 });

export const check = (policy: Policy = bucket, cost = 1, key = 'someone'): Check => ({ key, policy, cost });

/** The same store, but every answer has to be waited for, as over a network. */
export function waitedFor(store: Store): Store {
  return {
    decide: async (checks, options) => store.decide(checks, options),
    change: async (changes) => store.change(changes),
    forget: async (key, policies) => store.forget(key, policies),
    history: async (key, policy) => store.history(key, policy),
  };
}

/** Counts what reaches the store. */
export function counting(store: Store): Store & { readonly calls: string[] } {
  const calls: string[] = [];
  const noted = <T>(name: string, answer: T): T => {
    calls.push(name);
    return answer;
  };
  return {
    calls,
    decide: (checks, options) => noted('decide', store.decide(checks, options)),
    change: (changes) => noted('change', store.change(changes)),
    forget: (key, policies) => noted('forget', store.forget(key, policies)),
    history: (key, policy) => noted('history', store.history(key, policy)),
  };
}

/** What every method of a store does until it is told otherwise. */
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
  const act = <T>(ask: () => T | Promise<T>): T | Promise<T> => {
    self.calls += 1;
    switch (self.behaves) {
      case 'answers':
        return ask();
      case 'throws':
        throw self.error;
      case 'rejects':
        return Promise.reject(self.error);
      case 'hangs':
        return new Promise<T>((resolve, reject) => {
          hanging.push({ answer: () => resolve(ask()), fail: reject });
        });
    }
  };
  const self: Puppet = {
    behaves: 'answers',
    error: new Error('connection lost'),
    calls: 0,
    settle(outcome) {
      for (const { answer, fail } of hanging.splice(0)) outcome === 'answer' ? answer() : fail(outcome);
    },
    decide: (checks, options) => act(() => store.decide(checks, options)),
    change: (changes) => act(() => store.change(changes)),
    forget: (key, policies) => act(() => store.forget(key, policies)),
    history: (key, policy) => act(() => store.history(key, policy)),
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
