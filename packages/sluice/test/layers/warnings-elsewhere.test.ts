/** Where there is no process, as in workers and at the edge, warnings go to the console: nothing degrades in silence. */
import { afterEach, expect, test, vi } from 'vitest';
import { createLimiter, memoryStore, tokenBucket } from '../../src/index.ts';
import { fallback, layered } from '../../src/layers/index.ts';
import type { Store } from '../../src/store/index.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test.each([
  ['no process at all', undefined],
  ['a process that is not that of Node, as at the edge of Next.js', { versions: {} }],
])('an outage is a warning on the console: %s', async (_, process) => {
  const printed = vi.spyOn(console, 'warn').mockImplementation(() => {});
  let isAway = true;
  const real = memoryStore();
  const store: Store = {
    ...real,
    ask: async (question) => {
      if (isAway) throw new Error('the network is down');
      return real.ask(question);
    },
  };
  const limiter = createLimiter({
    policy: tokenBucket({ capacity: 5, refillRate: 1 }),
    store: layered(store, fallback({ to: memoryStore() })),
  });
  vi.stubGlobal('process', process);
  expect((await limiter.attempt('user:42')).source).toBe('fallback');
  await limiter.attempt('user:42');
  isAway = false;
  expect((await limiter.attempt('user:42')).source).toBe('store');
  vi.unstubAllGlobals();
  expect(printed.mock.calls.map(([text]) => /\[(\w+)\]: /.exec(text)?.[1])).toEqual([
    'SLUICE_STORE_AWAY',
    'SLUICE_STORE_BACK',
  ]);
});
