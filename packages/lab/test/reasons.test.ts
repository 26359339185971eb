/** What is said of a request is what happened to it. */
import { expect, test } from 'vitest';
import { Lab } from '../src/lab/lab.ts';
import { reasonOf } from '../src/model/reasons.ts';
import { INITIAL_SETUP } from '../src/setup/setup.ts';

test('a sliding counter that denies says what it has added up', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.advance(9_000);
  await lab.send(2);
  await lab.advance(3_000);
  await lab.send(10);
  const last = lab.trace.length - 1;
  // 2 s into the window 0.8 of 2 before still count: one.
  const row = lab.row('sliding-window-counter');
  expect(reasonOf(lab.trace, row, last, lab.origin)).toBe('9 now + 0.80 of 2 before = 10; retry in 3.00 s');
});

test('whoever waits in the queue is a request that has not left yet, whatever it costs', async () => {
  const lab = new Lab(INITIAL_SETUP);
  const waiting = () => lab.state('leaky-bucket-shaping').waiting;
  await lab.send(10);
  expect(waiting()).toBe(9);
  await lab.advance(2_500);
  expect(waiting()).toBe(7);
  await lab.advance(7_500);
  expect(waiting()).toBe(0);
  lab.change({ cost: 3 });
  await lab.advance(20_000);
  await lab.send(3);
  expect(waiting()).toBe(2);
});

test('a request to one card alone is asked of no other', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.send(3);
  await lab.send(4, 'gcra');
  await lab.send(1);
  const sent = (id: string) => lab.trace.countsUpTo(id, 0, lab.trace.length);
  for (const { id } of lab.rows) {
    const { allowed, denied } = sent(id);
    expect([id, allowed + denied]).toEqual([id, id === 'gcra' ? 8 : 4]);
    expect(lab.state(id).remaining).toBe(id === 'gcra' ? 2 : 6);
  }
  await lab.configure('gcra', { limit: '10', period: '10s', capacity: '5' });
  expect(sent('gcra')).toEqual({ allowed: 5, delayed: 0, denied: 3 });
  await lab.configure('token-bucket', { capacity: '3', refillRate: '1' });
  expect(sent('token-bucket')).toEqual({ allowed: 3, delayed: 0, denied: 1 });
});
