/** On an engine in real time the clock is somebody else's, and answers can fail to come. */
import { afterEach, expect, test, vi } from 'vitest';
import type { Engine } from '../src/engine/engine.ts';
import { Lab } from '../src/lab/lab.ts';
import { PLANS } from '../src/model/stories/index.ts';
import { INITIAL_SETUP } from '../src/setup/setup.ts';

const HOUR = 3_600_000;

/** Allows everything, at the time of a clock that is off; fails as long as it is told to. */
function engineOff(by: number): Engine & { isDown: boolean } {
  return {
    kind: 'memory',
    name: 'The server',
    isVirtual: false,
    isDown: false,
    raw: new Map(),
    commands: new Map(),
    async ask(arrivals, _clients, rows) {
      if (this.isDown) throw new Error('The server answered 503');
      const answer = { allowed: true, limit: 10, remaining: 9, retryAfter: null, resetAfter: 1, delay: null };
      return arrivals.map(({ client, cost }) => ({
        at: Date.now() + by,
        client,
        cost,
        answers: rows.map(() => answer),
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

test('a pause holds what is shown, and nothing is sent but by hand', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
  const lab = new Lab(
    { ...INITIAL_SETUP, engine: 'memory', traffic: { kind: 'steady', rate: 100, seed: 1 } },
    engineOff(0),
  );
  await pass(lab, 1_000);
  const sent = lab.trace.length;
  expect(sent).toBeGreaterThan(5);
  lab.pause();
  const { now } = lab;
  await pass(lab, 5_000);
  expect([lab.now, lab.trace.length]).toEqual([now, sent]);
  await lab.send();
  expect([lab.now, lab.trace.length]).toEqual([now + 5_000, sent + 1]);
  lab.play();
  await pass(lab, 1_000);
  expect(lab.now).toBe(now + 6_000);
  expect(lab.trace.length).toBeGreaterThan(sent + 5);
});

test('a server that hangs is reported while it is waited for, also when nothing was sent', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_700_000_000_000 });
  const engine = engineOff(0);
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engine);
  let answer = (): void => {};
  const hung = new Promise<number>((resolve) => {
    answer = () => resolve(Date.now());
  });
  await pass(lab, 1_000);
  engine.readClock = () => hung;
  await pass(lab, 2_700);
  expect(lab.problem).toMatch(/^The server has not answered for [12] s\. Still waiting\.$/);
  engine.readClock = async () => Date.now();
  answer();
  await pass(lab, 100);
  expect(lab.problem).toBeUndefined();
});

/** As if so much time went by, in frames. */
async function pass(lab: Lab, milliseconds: number, frame = 20): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += frame) {
    vi.advanceTimersByTime(frame);
    await lab.frame(frame);
    // Until the answer is there.
    await new Promise(setImmediate);
  }
  await lab.send(0);
}

/** Those that a server can play. */
const TIMED = PLANS.filter((plan) => plan.make(INITIAL_SETUP.limit).rows === undefined);

test.each([-HOUR, -400, 0, 400, HOUR])(
  'a story waits for the window it needs on a clock that is %d ms off',
  async (by) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_003_217 });
    for (const plan of TIMED.filter(({ id }) => id !== 'login-guessing')) {
      const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(by));
      await lab.tell(plan);
      const { start, script, limit } = lab.story!;
      expect(lab.origin % limit.window).toBe(0);
      expect(lab.now).toBe(Date.now() + by - lab.origin);
      expect(lab.now).toBeGreaterThan(start - limit.window);
      expect(lab.now).toBeLessThanOrEqual(start);
      await pass(lab, limit.window + 2_600);
      const due = script.filter(({ at }) => at <= lab.now);
      expect(due.length).toBeGreaterThan(0);
      expect(lab.trace.length).toBe(due.length);
      expect(lab.lateness).toBeLessThanOrEqual(20);
    }
  },
);

test('in real time nobody can be made to wait: a story neither stands still nor asks, and says the same', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(0));
  await lab.tell(PLANS[0]!);
  const said = new Set<string>();
  for (let second = 0; second < 12; second += 1) {
    await pass(lab, 1_000);
    said.add(lab.player!.said.text);
    expect([lab.player!.isHeld, lab.player!.pace]).toEqual([false, 1]);
  }
  expect(said.size).toBeGreaterThan(1);
});

test('a story with rows of its own is played in the page', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(0));
  await lab.tell(PLANS.find(({ id }) => id === 'model-tokens')!);
  expect([lab.engine.kind, lab.setup.engine, lab.rows.length]).toEqual(['browser', 'browser', 3]);
  await lab.reset();
  expect(lab.rows.length).toBe(7);
});

test('a story that is decided late says by how much, and the next one begins anew', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 });
  const lab = new Lab({ ...INITIAL_SETUP, engine: 'memory' }, engineOff(0));
  await lab.tell(PLANS[0]!);
  await pass(lab, 10_000, 1_000);
  expect(lab.lateness).toBe(500);
  await lab.tell(PLANS[0]!);
  expect(lab.lateness).toBe(0);
});
