/**
 * Policies that come along with requests, in the memory of this process. The memory store keeps a table of some 2 kB for each name under which a key
 * has a state, and callers may think of any number of names. So here the name goes into the key, and all that came along with one
 * algorithm have one table together. On Redis a name is part of the key anyway.
 */
import type { Change, Check, MemoryStore, Policy, Store } from 'sluice';

const inline = new WeakSet<Policy>();

/** From now on its name is the caller's, not the config's. */
export function markInline(policy: Policy): void {
  inline.add(policy);
}

/** A name that no configured policy can have. */
const TOGETHER = 'inline:';

/** Names are printable, so that the end of one cannot be the beginning of a key. */
function keyOf(key: string, { name }: Policy): string {
  return `${name}\n${key}`;
}

function moved<T extends Check | Change>(item: T): T {
  const { key, policy } = item;
  return inline.has(policy) ? { ...item, key: keyOf(key, policy), policy: { ...policy, name: TOGETHER } } : item;
}

export function inOneTable(store: MemoryStore): Store {
  const { decide } = store;
  const decideMoved: MemoryStore['decide'] = (checks, options) => decide(checks.map(moved), options);
  const one: MemoryStore['decide']['one'] = (key, policy, cost) =>
    inline.has(policy)
      ? decide.one!(keyOf(key, policy), { ...policy, name: TOGETHER }, cost)
      : decide.one!(key, policy, cost);
  return {
    decide: Object.assign(decideMoved, { one }),
    change: (changes) => store.change(changes.map(moved)),
    forget(key, policies) {
      for (const policy of policies) {
        const there = moved({ key, policy, cost: 0 });
        store.forget(there.key, [there.policy]);
      }
    },
    history(key, policy) {
      const there = moved({ key, policy, cost: 0 });
      return store.history(there.key, there.policy);
    },
  };
}
