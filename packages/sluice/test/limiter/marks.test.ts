/** How much stores remember of holds and retries, and what becomes of those beyond: they are charged, and nothing is given back twice. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, manualClock, memoryStore } from '../../src/index.ts';
import { storeOver } from '../../src/store/store-over.ts';
import { MOST_MARKS } from '../../src/store/values.ts';
import { Engine } from '../store/engine.ts';

const START = 1_763_280_000_000;
const LIMIT = 100_000;

function overEngine() {
  const clock = manualClock(START);
  const engine = new Engine();
  const policy = fixedWindow({ name: 'units', limit: LIMIT, window: '1h' });
  const limiter = createLimiter({ policy, store: storeOver(engine.port, { clock }) });
  const used = async (): Promise<number> => LIMIT - (await limiter.peek('k', { cost: 0 })).remaining;
  return { clock, limiter, used, bytes: () => engine.swaps.at(-1)!.bytes! };
}

describe('marks in the value of a key', () => {
  test('a caller with many ids makes a swap no larger, and pays for what is not remembered', async () => {
    const { clock, limiter, used, bytes } = overEngine();
    const attempt = (id: number) => limiter.attempt('k', { cost: 1, id: `request-${id}`, ttl: '1m' });
    for (let id = 0; id < MOST_MARKS; id += 1) await attempt(id);
    const full = bytes();
    expect(full).toBeLessThan(100 * MOST_MARKS);
    for (let id = MOST_MARKS; id < 3 * MOST_MARKS; id += 1) expect((await attempt(id)).repeated).toBe(false);
    expect(bytes()).toBe(full);
    expect(await used()).toBe(3 * MOST_MARKS);
    expect((await attempt(0)).repeated).toBe(true);
    expect((await attempt(2 * MOST_MARKS)).repeated).toBe(false);
    expect(await used()).toBe(3 * MOST_MARKS + 1);
    clock.set(START + 60_000);
    await attempt(-1);
    expect((await attempt(-1)).repeated).toBe(true);
    expect(bytes()).toBeLessThan(full / 10);
  });

  test('holds beyond the bound have no token, and are settled once by their object', async () => {
    const { limiter, used } = overEngine();
    for (let id = 0; id < MOST_MARKS; id += 1) await limiter.attempt('k', { cost: 0, id: `request-${id}` });
    const holds = [];
    for (let at = 0; at < MOST_MARKS + 50; at += 1) holds.push(await limiter.reserve('k', { cost: 10, ttl: '5m' }));
    expect(holds.map(({ token }) => token !== undefined)).toEqual(holds.map((_, at) => at < MOST_MARKS));
    expect(await used()).toBe(10 * holds.length);
    for (const [at, hold] of holds.entries()) {
      expect((await (hold.token === undefined ? hold.commit(4) : limiter.settle(hold.token, 4))).changed).toBe(6);
      const again = hold.token === undefined ? hold.commit(0) : limiter.settle(hold.token, 0);
      await expect(again, `hold ${at}`).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    }
    expect(await used()).toBe(4 * holds.length);
  });
});

test('a full memory store makes no more marks: it keeps what was spent, and nothing comes back twice', async () => {
  const clock = manualClock(START);
  const store = memoryStore({ clock, maxKeys: 100 });
  const limiter = createLimiter({ policy: fixedWindow({ name: 'units', limit: LIMIT, window: '1h' }), store });
  const holds = [];
  for (let at = 0; at < 300; at += 1) holds.push(await limiter.reserve('k', { cost: 10, ttl: '5m' }));
  // The spends of one key are one state, which is what a full store keeps to the last.
  const used = async (): Promise<number> => LIMIT - (await limiter.peek('k', { cost: 0 })).remaining;
  expect(await used()).toBe(3000);
  const tokens = holds.flatMap(({ token }) => token ?? []);
  expect(tokens).toHaveLength(99);
  // A key that comes makes a mark go, and no state of another key.
  for (let at = 0; at < 50; at += 1) await limiter.attempt(`other ${at}`);
  let settled = 0;
  for (const token of tokens) {
    const done = await limiter.settle(token, 4).catch(({ code }: { code: string }) => code);
    if (typeof done === 'string') expect(done).toBe('SLUICE_HOLD_SETTLED');
    else settled += done.changed;
    await expect(limiter.settle(token, 0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
  }
  expect(settled).toBe(6 * (99 - 50));
  expect(await used()).toBe(3000 - settled);
});
