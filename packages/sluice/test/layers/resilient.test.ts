/** The preset under the faults it is for: what each attempt is told, by whom, and how often the store was asked. */
import { describe, expect, test } from 'vitest';
import { createLimiter, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { type FallbackOptions, resilient } from '../../src/layers/index.ts';
import { bucket, check, manualTimers, puppet, stateOf, waitedFor } from './support.ts';

function around(fallback: FallbackOptions = { to: memoryStore({ clock: manualClock(0) }) }, shared?: Store) {
  const timers = manualTimers();
  const { clock, wakeAfter } = timers;
  const inner = puppet(shared);
  const store = resilient({
    deadline: { clock, wakeAfter },
    circuitBreaker: { clock },
    denyCache: { clock },
    fallback: { clock, ...fallback },
  })(inner);
  return { timers, inner, store };
}

test('a store that hangs: five attempts wait for the deadline, then nobody does but a probe a second', async () => {
  const { timers, inner, store } = around();
  inner.behaves = 'hangs';
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = store.decide([check()]);
    expect(await stateOf(answer)).toBe('pending');
    timers.pass(50);
    expect(await answer).toMatchObject({ source: 'fallback' });
  }
  for (let attempt = 0; attempt < 5; attempt += 1) {
    expect(store.decide([check(bucket, 1, 'at once')])).toMatchObject({ source: 'fallback' });
  }
  expect(inner.calls).toBe(5);

  timers.pass(1000);
  const probe = store.decide([check()]);
  expect(store.decide([check()])).toMatchObject({ source: 'fallback' });
  timers.pass(50);
  expect(await probe).toMatchObject({ source: 'fallback' });
  expect(inner.calls).toBe(6);

  inner.behaves = 'answers';
  timers.pass(1000);
  expect(await store.decide([check()])).toMatchObject({ source: 'store' });
  expect(await store.decide([check()])).toMatchObject({ source: 'store' });
});

test('what the store has denied stays denied while it is away, and is not a fresh start', async () => {
  const { inner, store } = around();
  await store.decide([check(bucket, 10)]);
  await store.decide([check()]);
  inner.behaves = 'rejects';
  expect(await store.decide([check()])).toMatchObject({ source: 'deny-cache', verdicts: [{ allowed: false }] });
  expect(await store.decide([check(bucket, 1, 'other')])).toMatchObject({ source: 'fallback' });
  expect(await store.decide([check(bucket, 2)])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: true }] });
  expect(await store.decide([check()]), 'what a fallback allows is not spent there').toMatchObject({
    source: 'deny-cache',
  });
});

test('what a fallback has denied is not remembered when the store is back', async () => {
  const { inner, store } = around();
  inner.behaves = 'rejects';
  await store.decide([check(bucket, 10)]);
  expect(await store.decide([check()])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: false }] });
  inner.behaves = 'answers';
  expect(await store.decide([check()])).toMatchObject({ source: 'store', verdicts: [{ allowed: true, remaining: 9 }] });
});

test('a late reply is spent once', async () => {
  const shared = memoryStore({ clock: manualClock(0) });
  const { timers, inner, store } = around({ to: 'allow' }, shared);
  inner.behaves = 'hangs';
  const answer = store.decide([check(bucket, 3)]);
  timers.pass(50);
  expect(await answer).toMatchObject({ source: 'fallback' });
  inner.settle('answer');
  inner.behaves = 'answers';
  await stateOf(undefined);
  expect(shared.decide([check(bucket, 0)])).toMatchObject({ verdicts: [{ remaining: 7 }] });
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
      const store = resilient({ fallback, circuitBreaker: { retryAfter: '3s' } })(inner);
      return (await store.decide([check()])).verdicts[0]!.retryAfter;
    };
    expect(await told({ to: 'deny' })).toBe(3_000_000);
    expect(await told({ to: 'deny', retryAfter: '7s' })).toBe(7_000_000);
  });

  test('layers can be left out', async () => {
    const inner = puppet();
    const store = resilient({ fallback: { to: 'allow' }, deadline: false, circuitBreaker: false, denyCache: false })(
      inner,
    );
    await store.decide([check(bucket, 10)]);
    for (const _ of [1, 2]) expect(await store.decide([check()])).toMatchObject({ source: 'store' });
    inner.behaves = 'rejects';
    for (let attempt = 0; attempt < 10; attempt += 1) await store.decide([check()]);
    expect(inner.calls).toBe(13);
  });

  test('one preset can serve several stores, each by itself', async () => {
    const preset = resilient({ fallback: { to: 'deny' }, circuitBreaker: { failures: 1 } });
    const broken = puppet();
    broken.behaves = 'rejects';
    const [one, two] = [preset(broken), preset(waitedFor(memoryStore()))];
    await one.decide([check()]);
    expect(await one.decide([check()])).toMatchObject({ source: 'fail-closed' });
    expect(await two.decide([check()])).toMatchObject({ source: 'store' });
  });
});
