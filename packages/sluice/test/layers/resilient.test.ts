/** The preset under the faults it is for: what each attempt is told, by whom, and how often the store was asked. */
import { describe, expect, test } from 'vitest';
import { createLimiter, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { type FallbackOptions, resilient } from '../../src/layers/index.ts';
import { bucket, check, decide, manualTimers, puppet, stateOf, waitedFor } from './support.ts';

function around(fallback: FallbackOptions = { to: memoryStore({ clock: manualClock(0) }) }, shared?: Store) {
  const timers = manualTimers();
  const { clock, wakeAfter } = timers;
  const inner = puppet(shared);
  const store = resilient({
    deadline: { clock, wakeAfter },
    circuitBreaker: { clock },
    denyCache: { clock },
    fallback: { clock, warnings: false, ...fallback },
  })(inner);
  return { timers, inner, store };
}

test('a store that hangs: five attempts wait for the deadline, then nobody does but a probe a second', async () => {
  const { timers, inner, store } = around();
  inner.behaves = 'hangs';
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = decide(store, [check()]);
    expect(await stateOf(answer)).toBe('pending');
    timers.pass(50);
    expect(await answer).toMatchObject({ source: 'fallback' });
  }
  for (let attempt = 0; attempt < 5; attempt += 1) {
    expect(decide(store, [check(bucket, 1, 'at once')])).toMatchObject({ source: 'fallback' });
  }
  expect(inner.calls).toBe(5);

  timers.pass(1000);
  const probe = decide(store, [check()]);
  expect(decide(store, [check()])).toMatchObject({ source: 'fallback' });
  timers.pass(50);
  expect(await probe).toMatchObject({ source: 'fallback' });
  expect(inner.calls).toBe(6);

  inner.behaves = 'answers';
  timers.pass(1000);
  expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
  expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
});

test('what the store has denied stays denied while it is away, and is not a fresh start', async () => {
  const { inner, store } = around();
  await decide(store, [check(bucket, 10)]);
  await decide(store, [check()]);
  inner.behaves = 'rejects';
  expect(await decide(store, [check()])).toMatchObject({ source: 'deny-cache', verdicts: [{ allowed: false }] });
  expect(await decide(store, [check(bucket, 1, 'other')])).toMatchObject({ source: 'fallback' });
  expect(await decide(store, [check(bucket, 2)]), 'nothing of the limit is left').toMatchObject({
    source: 'fallback',
    verdicts: [{ allowed: false, remaining: 0 }],
  });
  expect(await decide(store, [check()]), 'what a fallback says is not kept there').toMatchObject({
    source: 'deny-cache',
  });
});

test('what a fallback has denied is not remembered when the store is back', async () => {
  const { inner, store } = around();
  inner.behaves = 'rejects';
  await decide(store, [check(bucket, 10)]);
  expect(await decide(store, [check()])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: false }] });
  inner.behaves = 'answers';
  expect(await decide(store, [check()])).toMatchObject({
    source: 'store',
    verdicts: [{ allowed: true, remaining: 9 }],
  });
});

test('a late reply is spent once', async () => {
  const shared = memoryStore({ clock: manualClock(0) });
  const { timers, inner, store } = around({ to: 'allow' }, shared);
  inner.behaves = 'hangs';
  const answer = decide(store, [check(bucket, 3)]);
  timers.pass(50);
  expect(await answer).toMatchObject({ source: 'fallback' });
  inner.settle('answer');
  inner.behaves = 'answers';
  await stateOf(undefined);
  expect(decide(shared, [check(bucket, 0)])).toMatchObject({ verdicts: [{ remaining: 7 }] });
});

test('nothing is thrown into a request, whatever the store does', async () => {
  const { inner, store } = around();
  const limiter = createLimiter({ policy: bucket, store });
  for (const mood of ['throws', 'rejects', 'answers', 'throws', 'rejects', 'rejects', 'throws', 'throws'] as const) {
    inner.behaves = mood;
    expect(await limiter.attempt('someone')).toMatchObject({ allowed: true });
  }
});

describe('options', () => {
  test('those who are denied for an outage may come back at the next probe', async () => {
    const inner = puppet();
    inner.behaves = 'rejects';
    const told = async (fallback: FallbackOptions) => {
      const store = resilient({ fallback: { ...fallback, warnings: false }, circuitBreaker: { retryAfter: '3s' } })(
        inner,
      );
      return (await decide(store, [check()])).verdicts[0]!.retryAfter;
    };
    expect(await told({ to: 'deny' })).toBe(3_000_000);
    expect(await told({ to: 'deny', retryAfter: '7s' })).toBe(7_000_000);
  });

  test('layers can be left out', async () => {
    const inner = puppet();
    const store = resilient({
      fallback: { to: 'allow', warnings: false },
      deadline: false,
      circuitBreaker: false,
      denyCache: false,
    })(inner);
    await decide(store, [check(bucket, 10)]);
    for (const _ of [1, 2]) expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
    inner.behaves = 'rejects';
    for (let attempt = 0; attempt < 10; attempt += 1) await decide(store, [check()]);
    expect(inner.calls).toBe(13);
  });

  test('one preset can serve several stores, each by itself', async () => {
    const preset = resilient({ fallback: { to: 'deny', warnings: false }, circuitBreaker: { failures: 1 } });
    const broken = puppet();
    broken.behaves = 'rejects';
    const [one, two] = [preset(broken), preset(waitedFor(memoryStore()))];
    await decide(one, [check()]);
    expect(await decide(one, [check()])).toMatchObject({ source: 'fail-closed' });
    expect(await decide(two, [check()])).toMatchObject({ source: 'store' });
  });
});
