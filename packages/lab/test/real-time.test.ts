/** On an engine in real time the clock is somebody else's, and answers can fail to come. */
import { afterEach, expect, test, vi } from 'vitest';
import { CARD_IDS } from '../src/cards/catalog.ts';
import type { Engine } from '../src/engine/engine.ts';
import { Lab } from '../src/engine/lab.ts';
import { PRESETS } from '../src/presets/presets.ts';
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
    readClock: async () => Date.now() + by,
  };
}

afterEach(() => void vi.useRealTimers());

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

/** As if so much time went by, in frames. */
async function pass(lab: Lab, milliseconds: number, frame = 20): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += frame) {
    vi.setSystemTime(Date.now() + frame);
    await lab.frame(frame);
    await Promise.resolve();
  }
  await lab.send(0);
}

const WINDOW = 10_000;

test.each([-HOUR, -400, 0, 400, HOUR])(
  'a story waits for the window it needs on a clock that is %d ms off',
  async (by) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_003_217 });
    for (const story of PRESETS) {
      const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(by));
      await lab.tell(story);
      expect(lab.origin % WINDOW).toBe(0);
      expect(lab.now).toBe(Date.now() + by - lab.origin);
      expect(lab.now).toBeGreaterThan(story.start - WINDOW);
      expect(lab.now).toBeLessThanOrEqual(story.start);
      await pass(lab, WINDOW + 2_600);
      const due = story.script.filter(({ at }) => at <= lab.now);
      expect(due.length).toBeGreaterThan(0);
      expect(lab.trace.length).toBe(due.length);
      expect(lab.lateness).toBeLessThanOrEqual(20);
    }
  },
);

test('a story that is decided late says by how much, and the next one begins anew', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
  const [story] = PRESETS;
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(0));
  await lab.tell(story!);
  await pass(lab, 10_000, 1_000);
  expect(lab.lateness).toBe(500);
  await lab.tell(story!);
  expect(lab.lateness).toBe(0);
});
