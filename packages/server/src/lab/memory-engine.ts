/** The lab on the memory of this process. Its states are numbers in typed arrays that nobody can print, so what is shown of them is what a look says. */
import { createLimiter, type MemoryStore, type Policy, type RateLimitResult } from 'sluice';
import { keepsEntries } from '../service/ask.ts';
import type { Attempt, Engine, Observed, RawState } from './engine.ts';
import type { InstantClock } from './instant-clock.ts';

/** `clock` is the store's. */
export function memoryEngine(store: MemoryStore, clock: InstantClock): Engine {
  const limiter = createLimiter<{ readonly policy: Policy }>({ policy: ({ policy }) => policy, store });
  const attemptOne = async ({ key, policy, cost }: Attempt): Promise<Observed> => {
    const result = await limiter.attempt(key, { cost, context: { policy } });
    return { result, raw: rawOf(store, key, policy, result), commands: {} };
  };
  return {
    name: 'memory',
    description: 'the memory of the server',
    attempt: (attempts) => Promise.all(clock.atOnce(() => attempts.map(attemptOne))),
    forget: async ({ key, policy }) => {
      store.ask({ verb: 'forget', key, policies: [policy] });
    },
  };
}

function rawOf(
  store: MemoryStore,
  key: string,
  policy: Policy,
  { remaining, resetAfter }: RateLimitResult,
): RawState | null {
  if (resetAfter === 0) return null;
  const isLog = keepsEntries(policy);
  return {
    key: `${key} under ${policy.name}`,
    type: isLog ? 'a list of admissions' : 'numbers in a typed array',
    value: isLog ? logText(store, key, policy) : `remaining ${remaining}`,
    reading: `${remaining} left, resets in ${Math.ceil(resetAfter * 1e3) / 1e3} s`,
    ttlMs: Math.ceil(resetAfter * 1e3),
    memoryBytes: null,
  };
}

const SHOWN = 8;

/** The newest, which are the last. */
function logText(store: MemoryStore, key: string, policy: Policy): string {
  const { history = [] } = store.ask({ verb: 'history', key, policy, after: 0, most: Number.POSITIVE_INFINITY });
  const shown = history.slice(-SHOWN).map(({ at, cost }) => `${at.toFixed(6)}${cost === 1 ? '' : ` x ${cost}`}`);
  return `${history.length > SHOWN ? '... ' : ''}${shown.join(' ')}`;
}
