/** On an engine in real time the clock is somebody else's, and answers can fail to come. */
import { expect, test } from 'vitest';
import { CARD_IDS } from '../src/cards/catalog.ts';
import type { Engine } from '../src/engine/engine.ts';
import { Lab } from '../src/engine/lab.ts';
import { INITIAL_SETUP } from '../src/share/share.ts';

const HOUR = 3_600_000;

/** Allows everything, at the time of a clock that is off; fails as long as it is told to. */
function engineOff(by: number): Engine & { isDown: boolean } {
  return {
    kind: 'memory',
    isVirtual: false,
    isDown: false,
    raw: new Map(),
    commands: new Map(),
    async ask(arrivals) {
      if (this.isDown) throw new Error('The server answered 503');
      const answer = { allowed: true, remaining: 9, retryAfter: null, resetAfter: 1, delay: null };
      return arrivals.map(({ client, cost }) => ({
        at: Date.now() + by,
        client,
        cost,
        answers: CARD_IDS.map(() => answer),
      }));
    },
    async reset() {},
  };
}

test.each([-HOUR, 0, HOUR])('a clock that is %d ms off moves nothing: what was just sent is now', async (by) => {
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(by));
  await lab.send(3);
  await lab.frame(16);
  expect(lab.trace.length).toBe(3);
  for (const time of [lab.now, lab.trace.at[0]!, lab.trace.at[2]!]) expect(Math.abs(time)).toBeLessThan(HOUR / 2);
  expect(lab.now).toBeGreaterThanOrEqual(lab.trace.at[2]!);
});

test('a server that fails is reported, and forgotten once it answers', async () => {
  const engine = engineOff(0);
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engine);
  engine.isDown = true;
  await lab.send();
  expect([lab.problem, lab.trace.length]).toEqual(['The server answered 503', 0]);
  engine.isDown = false;
  await lab.send();
  expect([lab.problem, lab.trace.length]).toEqual([undefined, 1]);
});
