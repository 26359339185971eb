/** The real sleep, on timers and a clock that the test moves: never too short, never too long for a timer, and nothing left behind. */
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemTimers } from '../../src/limiter/sleep.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const asleep = (ms: number, signal = new AbortController().signal): { awake: boolean } => {
  const state = { awake: false };
  void systemTimers.sleep(ms, signal).then(() => {
    state.awake = true;
  });
  return state;
};

test('a part of a millisecond is slept as a whole one, on one timer', async () => {
  const timer = vi.spyOn(globalThis, 'setTimeout');
  const state = asleep(0.2);
  expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([1]);
  await vi.advanceTimersByTimeAsync(0);
  expect(state.awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.awake).toBe(true);
});

test('a timer that rings early is set again', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const state = asleep(10);
  now.mockReturnValue(1009.4);
  await vi.advanceTimersByTimeAsync(10);
  expect(state.awake).toBe(false);
  now.mockReturnValue(1010);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.awake).toBe(true);
  now.mockRestore();
});

test('a sleep longer than any timer', async () => {
  const month = 31 * 86_400_000;
  const state = asleep(month);
  await vi.advanceTimersByTimeAsync(month - 1);
  expect(state.awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.awake).toBe(true);
});

test('an abort wakes at once, and neither timer nor listener stays', async () => {
  const controller = new AbortController();
  const state = asleep(1000, controller.signal);
  controller.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(state.awake).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('a signal that has aborted before lets nobody sleep', async () => {
  const state = asleep(1000, AbortSignal.abort());
  await vi.advanceTimersByTimeAsync(0);
  expect([state.awake, vi.getTimerCount()]).toEqual([true, 0]);
});
