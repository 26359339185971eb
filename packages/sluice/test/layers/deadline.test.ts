/** Every call is answered in time, nothing is asked twice, and what comes late is dropped without a trace. */
import { describe, expect, test, vi } from 'vitest';
import { manualClock, memoryStore, type Store } from '../../src/index.ts';
import { deadline } from '../../src/layers/index.ts';
import {
  bucket,
  change,
  check,
  decide,
  forget,
  history,
  manualTimers,
  type Puppet,
  puppet,
  stateOf,
} from './support.ts';

function around(inner: Puppet = puppet(), timeout: number | undefined = 50) {
  const timers = manualTimers();
  const { clock, wakeAfter } = timers;
  return { inner, timers, store: deadline({ timeout, clock, wakeAfter })(inner) };
}

const CALLS: readonly [name: string, call: (store: Store) => unknown][] = [
  ['attempt', (store) => decide(store, [check()])],
  ['change', (store) => change(store, [{ verb: 'unblock', key: 'someone', policy: bucket }])],
  ['forget', (store) => forget(store, 'someone', [bucket])],
  ['history', (store) => history(store, 'someone', bucket)],
];

describe.each(CALLS)('%s', (_, call) => {
  test('a store that hangs is given up at the deadline, and not before', async () => {
    const { inner, timers, store } = around();
    inner.behaves = 'hangs';
    const answer = call(store);
    timers.pass(49.999);
    expect(await stateOf(answer)).toBe('pending');
    timers.pass(0.001);
    await expect(answer).rejects.toMatchObject({
      code: 'SLUICE_TIMEOUT',
      path: 'store',
      kind: 'store',
      sentence: 'The store did not answer within 50 ms. The attempt may have been counted anyway.',
    });
    expect(inner.calls).toBe(1);
  });

  test.each(['answer', new Error('too late')] as const)('what comes late is dropped: %s', async (outcome) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const { inner, timers, store } = around();
    inner.behaves = 'hangs';
    const answer = call(store);
    timers.pass(50);
    expect(await stateOf(answer)).toBe('SLUICE_TIMEOUT');
    inner.settle(outcome);
    await stateOf(undefined);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(inner.calls).toBe(1);
  });
});

test('an attempt that was given up and carried out all the same is spent once', async () => {
  const memory = memoryStore({ clock: manualClock(0) });
  const { inner, timers, store } = around(puppet(memory));
  inner.behaves = 'hangs';
  const answer = decide(store, [check(bucket, 4)]);
  timers.pass(50);
  expect(await stateOf(answer)).toBe('SLUICE_TIMEOUT');
  inner.settle('answer');
  inner.behaves = 'answers';
  expect(await decide(store, [check(bucket, 0)])).toMatchObject({ verdicts: [{ remaining: 6 }] });
});

test('an answer in time is the answer, and an error in time is the error', async () => {
  const { inner, timers, store } = around();
  inner.behaves = 'hangs';
  const answer = decide(store, [check()]);
  timers.pass(49);
  inner.settle('answer');
  expect(await answer).toMatchObject({ verdicts: [{ allowed: true, remaining: 9 }] });
  const failure = decide(store, [check()]);
  inner.settle(new Error('connection lost'));
  await expect(failure).rejects.toThrow('connection lost');
});

test('each call has its own deadline', async () => {
  const { inner, timers, store } = around();
  inner.behaves = 'hangs';
  const answers: unknown[] = [];
  for (let at = 0; at < 5; at += 1) {
    answers.push(decide(store, [check()]));
    timers.pass(10);
  }
  const states = () => Promise.all(answers.map(stateOf));
  expect(await states()).toEqual(['SLUICE_TIMEOUT', 'pending', 'pending', 'pending', 'pending']);
  timers.pass(19);
  expect(await states()).toEqual(['SLUICE_TIMEOUT', 'SLUICE_TIMEOUT', 'pending', 'pending', 'pending']);
  timers.pass(100);
  expect(await states()).toEqual(Array(5).fill('SLUICE_TIMEOUT'));
});

test('one timer for any number of calls, and none when nobody waits', async () => {
  const { inner, timers, store } = around();
  inner.behaves = 'hangs';
  const answers = Array.from({ length: 1000 }, () => decide(store, [check()]));
  expect(timers.wound).toBe(1);
  inner.settle('answer');
  await Promise.all(answers);
  timers.pass(50);
  expect(timers.wound).toBe(0);
  const late = decide(store, [check()]);
  expect(timers.wound).toBe(1);
  timers.pass(50);
  expect(await stateOf(late)).toBe('SLUICE_TIMEOUT');
  expect(timers.wound).toBe(0);
});

test('a store that answers at once needs no timer and no promise', () => {
  const { inner, timers, store } = around(puppet(memoryStore({ clock: manualClock(0) })));
  expect(decide(store, [check()])).toMatchObject({ verdicts: [{ allowed: true }] });
  inner.behaves = 'throws';
  expect(() => decide(store, [check()])).toThrow('connection lost');
  expect(timers.wound).toBe(0);
});

describe('by the clock and the timers of the platform', () => {
  test('the timer does not keep a program alive', async () => {
    const timersHeld = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timersHeld();
    const inner = puppet();
    inner.behaves = 'hangs';
    const answer = decide(deadline({ timeout: '1h' })(inner), [check()]);
    expect(timersHeld()).toBe(before);
    inner.settle('answer');
    expect(await stateOf(answer)).toBe('answered');
  });

  test('50 ms is the default', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    try {
      const inner = puppet();
      inner.behaves = 'hangs';
      const answer = decide(deadline()(inner), [check()]) as Promise<unknown>;
      vi.advanceTimersByTime(49);
      expect(await stateOf(answer)).toBe('pending');
      vi.advanceTimersByTime(2);
      expect(await stateOf(answer)).toBe('SLUICE_TIMEOUT');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('what has arrived before the timer could ring counts as in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    try {
      const inner = puppet();
      inner.behaves = 'hangs';
      const answer = decide(deadline()(inner), [check()]);
      vi.advanceTimersByTime(200);
      inner.settle('answer');
      expect(await stateOf(answer)).toBe('answered');
    } finally {
      vi.useRealTimers();
    }
  });

  test('a timeout longer than any timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    try {
      const inner = puppet();
      inner.behaves = 'hangs';
      const answer = decide(deadline({ timeout: '365d' })(inner), [check()]);
      vi.advanceTimersByTime(2 ** 31);
      expect(await stateOf(answer)).toBe('pending');
      expect(vi.getTimerCount()).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });
});
