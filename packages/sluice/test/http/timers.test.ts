/** Waiting, and leaving nothing behind. On fake timers: no test waits. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sleep, timeLimit } from '../../src/http/timers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('sleep ends after its time, and then no longer listens to the signal', async () => {
  const { signal } = new AbortController();
  const remove = vi.spyOn(signal, 'removeEventListener');
  const slept = sleep(1000, signal).then(() => 'slept');
  await vi.advanceTimersByTimeAsync(999);
  expect(remove).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await slept).toBe('slept');
  expect(remove).toHaveBeenCalledOnce();
});

test('sleep ends at once when the signal aborts, and leaves no timer', async () => {
  const controller = new AbortController();
  const slept = sleep(1000, controller.signal);
  controller.abort(new Error('enough'));
  await expect(slept).rejects.toThrow('enough');
  expect(vi.getTimerCount()).toBe(0);
});

test('sleep does not begin when the signal has aborted', async () => {
  await expect(sleep(1000, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  expect(vi.getTimerCount()).toBe(0);
});

test('a time limit aborts with its reason, unless it is lifted before', async () => {
  const [kept, lifted] = [timeLimit(10, () => 'late'), timeLimit(10, () => 'late')];
  lifted.lift();
  await vi.advanceTimersByTimeAsync(10);
  expect([kept.signal.reason, lifted.signal.aborted]).toEqual(['late', false]);
});
