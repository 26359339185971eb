/** Any number of policies that come along with requests: each has states of its own, and none leaves anything behind. */
import { checkPolicy, createLimiter, fixedWindow, memoryStore, type Policy, type Store } from 'sluice';
import { checksOf } from 'sluice/store';
import { storeContract } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { inOneTable, markInline } from '../src/service/inline-policies.ts';
import { heapBytes, startService } from './support.ts';

/** As if every policy had come along. */
function allInline(store: Store): Store {
  return {
    ...store,
    ask(question) {
      if (question.verb === 'attempt') for (const { policy } of checksOf(question)) markInline(policy);
      if (question.verb === 'change') for (const { policy } of question.changes) markInline(policy);
      if (question.verb === 'forget') for (const policy of question.policies) markInline(policy);
      if (question.verb === 'history') markInline(question.policy);
      return store.ask(question);
    },
  };
}

describe('the memory store keeps its contract for policies', () => {
  const STORES = {
    'of the config': (store: Store) => store,
    'that come along': allInline,
  };
  for (const [whose, wrap] of Object.entries(STORES)) {
    for (const { name, run } of storeContract(({ clock }) => wrap(inOneTable(memoryStore({ clock }))))) {
      test(`${whose}: ${name}`, run);
    }
  }
});

const policyOf = (policy: object): Policy => {
  const checked = checkPolicy(policy);
  markInline(checked);
  return checked;
};

test('a name and a key are never another name and key, nor those of the config', async () => {
  const limiter = createLimiter<{ policy: Policy }>({
    policy: ({ policy }) => policy,
    store: inOneTable(memoryStore()),
  });
  const numbers = { algorithm: 'fixed-window', limit: 1, window: '1d' };
  const spend = async (policy: Policy, key: string) => (await limiter.attempt(key, { context: { policy } })).allowed;
  expect(await spend(policyOf({ ...numbers, name: 'a' }), 'b')).toBe(true);
  expect(await spend(policyOf({ ...numbers, name: 'a' }), 'b')).toBe(false);
  expect(await spend(policyOf({ ...numbers, name: 'a' }), 'a\nb')).toBe(true);
  expect(await spend(policyOf({ ...numbers, name: 'b' }), 'b')).toBe(true);
  expect(await spend(fixedWindow({ name: 'a', limit: 1, window: '1d' }), 'b')).toBe(true);
});

test('twenty thousand names that somebody thought of: no more states than are allowed, and nothing of the names stays', async () => {
  const kept = memoryStore({ maxKeys: 100 });
  const opened = { description: 'test', failsClosed: false, isUp: async () => true, close: async () => {} };
  const service = await startService({ store: { ...opened, store: inOneTable(kept) } });
  const ask = async (verb: string, from: number, count: number): Promise<void> => {
    for (let at = from; at < from + count; at += 200) {
      const items = Array.from({ length: 200 }, (_, index) => ({
        ...{ key: 'k', policy: { algorithm: 'fixed-window', limit: 9, window: '1d', name: `name-${at + index}` } },
      }));
      expect((await service.post(`/v1/${verb}`, items)).body[199]).toMatchObject({ policy: `name-${at + 199}` });
    }
  };
  await ask('attempt', 0, 2000);
  const before = heapBytes();
  await ask('attempt', 2000, 10_000);
  await ask('peek', 12_000, 10_000);
  expect(heapBytes() - before).toBeLessThan(5 * 2 ** 20);
  expect(kept.stats().keys).toBe(100);
  await service.stop();
});
