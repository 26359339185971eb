/** A line is forgotten when nobody is in it, and not before: keys come and go, and memory must not grow with them. */
import { expect, test } from 'vitest';
import { tokenBucket } from '../../src/index.ts';
import type { Waiter } from '../../src/limiter/lines.ts';
import { Lines } from '../../src/limiter/lines.ts';
import { settled } from './support.ts';

const policies = [tokenBucket({ capacity: 1, refillRate: 1 })];

/** Gets its turn at once, and leaves the line when the test says so. */
const content: Waiter = { ask: async () => undefined, sleep: async () => {}, wake: () => {}, isOver: () => false };

test('when the last one leaves after its turn', async () => {
  const lines = new Lines();
  const line = lines.lineFor('api', policies);
  line.join(content);
  await settled();
  expect([lines.waiting('api'), lines.lineFor('api', policies) === line]).toEqual([1, true]);
  line.leave(content);
  expect([lines.waiting('api'), lines.lineFor('api', policies) === line]).toEqual([0, false]);
});

test('when the last one leaves before its turn, once the store has answered', async () => {
  const lines = new Lines();
  const line = lines.lineFor('api', policies);
  line.join(content);
  line.leave(content);
  expect([lines.waiting('api'), lines.lineFor('api', policies) === line]).toEqual([0, true]);
  await settled();
  expect(lines.lineFor('api', policies) === line).toBe(false);
});
