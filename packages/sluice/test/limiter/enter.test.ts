/** enter, run and permitOf: who holds a place when, how it is kept alive, and when it comes back. */
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type LimiterOptions,
  memoryStore,
  type Policy,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { fallback, layered, shadow } from '../../src/layers/index.ts';
import { settled, virtualTimers } from './support.ts';

const two = concurrency({ limit: 2, ttl: '30s' });

function limiterWith(policies: readonly Policy[] = [two], wrap: (store: Store) => Store = (store) => store) {
  const timers = virtualTimers();
  const memory = memoryStore({ clock: timers.clock });
  const store = wrap(memory);
  const options: LimiterOptions<unknown> = { policies, store, timers };
  return { timers, store, limiter: createLimiter(options), other: createLimiter(options) };
}

/** A store that fails, or whose answers get lost, when it is told to. */
function troubled(store: Store): Store & { trouble: 'none' | 'away' | 'loses answers'; readonly changes: string[] } {
  const self = {
    trouble: 'none' as 'none' | 'away' | 'loses answers',
    changes: [] as string[],
    async ask(question: Parameters<Store['ask']>[0]) {
      if (question.verb === 'change') self.changes.push(...question.changes.map(({ verb }) => verb));
      if (self.trouble === 'away') throw new Error('away');
      const answer = await store.ask(question);
      if (self.trouble === 'loses answers') throw new Error('lost');
      return answer;
    },
  };
  return self;
}

describe('enter', () => {
  test('as many as the limit hold a place, and a release makes room', async () => {
    const { limiter } = limiterWith();
    const [first, second, third] = await Promise.all([limiter.enter('k'), limiter.enter('k'), limiter.enter('k')]);
    expect([first, second, third].map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(third).toMatchObject({ remaining: 0, retryAfter: 30, isHeld: false });
    expect(first).toMatchObject({ remaining: 1, retryAfter: null, isHeld: true });
    expect(await first!.release()).toBe(true);
    expect(first!.isHeld).toBe(false);
    expect((await limiter.enter('k')).allowed).toBe(true);
    expect((await limiter.enter('k')).allowed).toBe(false);
  });

  test('a second release changes nothing, also of a permit that was taken in the same moment as another', async () => {
    const { limiter } = limiterWith();
    const [first] = await Promise.all([limiter.enter('k'), limiter.enter('k')]);
    expect(await first!.release()).toBe(true);
    expect(await first!.release()).toBe(true);
    const copy = (await limiter.permitOf('k', first!.result))!;
    expect(await copy.release()).toBe(false);
    expect((await limiter.peek('k')).remaining).toBe(1);
  });

  test('a permit that was denied holds nothing, and to release it does nothing', async () => {
    const { limiter } = limiterWith();
    await limiter.enter('k');
    const held = await limiter.enter('k');
    const denied = await limiter.enter('k');
    expect(await denied.release()).toBe(false);
    expect(await denied.extend()).toBe(false);
    expect(held.isHeld).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(0);
  });

  test('is disposed of at the end of its block', async () => {
    const { limiter } = limiterWith();
    {
      await using permit = await limiter.enter('k');
      expect(permit.allowed).toBe(true);
      expect((await limiter.peek('k')).remaining).toBe(1);
    }
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('takes several places at a time', async () => {
    const { limiter } = limiterWith();
    const both = await limiter.enter('k', { cost: 2 });
    expect((await limiter.enter('k')).allowed).toBe(false);
    await both.release();
    expect((await limiter.peek('k')).remaining).toBe(2);
    const look = await limiter.enter('k', { cost: 0 });
    expect(look.allowed).toBe(true);
    expect(await look.release()).toBe(false);
  });

  test('beside a rate: all or nothing, and a release gives no rate back', async () => {
    const rate = tokenBucket({ capacity: 3, refillRate: '1/h' });
    const { limiter } = limiterWith([two, rate]);
    const permits = [await limiter.enter('k'), await limiter.enter('k')];
    const denied = await limiter.enter('k');
    expect(denied.allowed).toBe(false);
    expect(denied.result.decisions.map(({ remaining }) => remaining)).toEqual([0, 1]);
    for (const permit of permits) await permit.release();
    const third = await limiter.enter('k');
    expect(third.allowed).toBe(true);
    await third.release();
    const { decisions } = await limiter.enter('k').then(({ result }) => result);
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [false, 0],
    ]);
  });

  test('needs a policy that gives permits', async () => {
    const { limiter } = limiterWith([tokenBucket({ capacity: 3, refillRate: 1 })]);
    await expect(limiter.enter('k')).rejects.toMatchObject({ code: 'SLUICE_NO_PERMITS' });
    await expect(limiter.run('k', () => 1)).rejects.toMatchObject({ code: 'SLUICE_NO_PERMITS' });
    expect(limiter.permitOf('k', await limiter.attempt('k'))).toBeUndefined();
  });

  test('refuses what it does not know', async () => {
    const { limiter } = limiterWith();
    const misspelt = { hartbeat: false } as object;
    await expect(limiter.enter('k', misspelt)).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' });
    await expect(limiter.enter('k', { heartbeat: 1 as never })).rejects.toMatchObject({
      code: 'SLUICE_INVALID_OPTION',
    });
    await expect(limiter.run('k', 'work' as never)).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' });
  });
});

describe('the heartbeat', () => {
  test('keeps a permit for as long as it is held, and ends with it', async () => {
    const { limiter, timers } = limiterWith();
    const permit = await limiter.enter('k');
    await timers.run(3_600_000);
    expect(permit.isHeld).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(1);
    await permit.release();
    await timers.run();
    expect(timers.pending).toBe(0);
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('of a process that died ends, and its places come back with the ttl', async () => {
    const { limiter, timers } = limiterWith();
    await limiter.enter('k', { heartbeat: false });
    await limiter.enter('k', { heartbeat: false });
    timers.clock.set(29_999);
    expect((await limiter.enter('k')).allowed).toBe(false);
    timers.clock.set(30_001);
    expect((await limiter.enter('k')).allowed).toBe(true);
  });

  test('survives two beats that fail, and tells when the permit is lost', async () => {
    let store!: ReturnType<typeof troubled>;
    const { limiter, timers } = limiterWith([two], (memory) => {
      store = troubled(memory);
      return store;
    });
    const permit = await limiter.enter('k');
    const { signal } = permit;
    store.trouble = 'away';
    await timers.run(20_000);
    store.trouble = 'none';
    await timers.run(31_000);
    expect([permit.isHeld, signal.aborted]).toEqual([true, false]);
    store.trouble = 'away';
    await timers.run(61_000);
    expect([permit.isHeld, signal.aborted]).toEqual([false, true]);
    store.trouble = 'none';
    expect(await permit.extend()).toBe(false);
    expect(await permit.release()).toBe(false);
  });

  test('whose answers get lost keeps the permit in the store, where a release finds it', async () => {
    let store!: ReturnType<typeof troubled>;
    const { limiter, timers } = limiterWith([two], (memory) => {
      store = troubled(memory);
      return store;
    });
    const permit = await limiter.enter('k');
    store.trouble = 'loses answers';
    await timers.run(25_000);
    store.trouble = 'none';
    expect(store.changes).toEqual(['extend', 'extend', 'extend']);
    expect(await permit.release()).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('finds out that somebody has reset the key', async () => {
    const { limiter, timers } = limiterWith();
    const permit = await limiter.enter('k');
    await limiter.reset('k');
    const { signal } = permit;
    await timers.run(10_001);
    expect([permit.isHeld, signal.aborted]).toEqual([false, true]);
    expect(permit.signal.aborted).toBe(true);
  });
});

describe('run', () => {
  test('holds a place while the work runs, and gives it back whatever becomes of it', async () => {
    const { limiter } = limiterWith();
    const seen = await limiter.run('k', async (permit) => [permit.isHeld, (await limiter.peek('k')).remaining]);
    expect(seen).toEqual([true, 1]);
    await expect(limiter.run('k', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('those who wait get the place as soon as it is given back in this process, first come, first served', async () => {
    const { limiter, timers } = limiterWith([concurrency({ limit: 1, ttl: '30s' })]);
    const order: string[] = [];
    let finish!: () => void;
    const first = limiter.run('k', () => new Promise<void>((resolve) => (finish = resolve)));
    await settled();
    const others = ['second', 'third'].map((name) => limiter.run('k', () => order.push(name)));
    await settled();
    expect(limiter.waiting('k')).toBe(2);
    finish();
    await Promise.all([first, ...others]);
    expect(order).toEqual(['second', 'third']);
    expect(timers.clock.now()).toBe(0);
  });

  test('a place that another process gives back is seen within a tenth of a second', async () => {
    const { limiter, other, timers } = limiterWith([concurrency({ limit: 1, ttl: '30s' })]);
    const theirs = await other.enter('k');
    const done = limiter.run('k', () => timers.clock.now());
    await timers.run(1000);
    await theirs.release();
    await timers.run(1200);
    expect(await done).toBeLessThanOrEqual(1100);
  });

  test('gives up after its timeout or with its signal, and not before', async () => {
    const { limiter, timers } = limiterWith([concurrency({ limit: 1, ttl: '30s' })]);
    const permit = await limiter.enter('k');
    const late = expect(limiter.run('k', () => 1, { timeout: '10s' })).rejects.toMatchObject({
      code: 'SLUICE_ACQUIRE_TIMEOUT',
    });
    const aborting = new AbortController();
    const aborted = expect(limiter.run('k', () => 1, { signal: aborting.signal })).rejects.toMatchObject({
      code: 'SLUICE_ABORTED',
    });
    const lucky = limiter.run('k', () => timers.clock.now(), { timeout: '20s' });
    await timers.run(9_000);
    aborting.abort();
    await timers.run(15_000);
    await permit.release();
    await timers.run(15_200);
    expect(await lucky).toBeLessThan(15_200);
    await Promise.all([late, aborted]);
  });
});

describe('permitOf', () => {
  test('gives back elsewhere what was taken here, from what was told as JSON', async () => {
    const { limiter, other } = limiterWith();
    const told = JSON.stringify(await limiter.attempt('k'));
    const permit = (await other.permitOf('k', JSON.parse(told), { heartbeat: false }))!;
    expect(await permit.extend()).toBe(true);
    expect(await permit.release()).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('refuses a result of another limit', async () => {
    const { limiter } = limiterWith();
    const foreign = await createLimiter({ policy: tokenBucket({ capacity: 1, refillRate: 1 }) }).attempt('k');
    expect(() => limiter.permitOf('k', foreign)).toThrow(/concurrency/);
  });
});

describe('layers', () => {
  test('what a fallback has given is kept alive there and given back there, also when the store is back', async () => {
    let store!: ReturnType<typeof troubled>;
    const { limiter, timers } = limiterWith([two], (memory) => {
      store = troubled(memory);
      return store;
    });
    const instead = memoryStore({ clock: timers.clock });
    const around = layered(store, fallback({ to: instead, warnings: false, clock: timers.clock }));
    const guarded = createLimiter({ policy: two, store: around, timers });
    store.trouble = 'away';
    const [one, another] = [await guarded.enter('k'), await guarded.enter('k')];
    expect([one!.allowed, another!.allowed, one!.result.source]).toEqual([true, true, 'fallback']);
    expect((await guarded.enter('k')).allowed).toBe(false);
    expect(await one!.extend()).toBe(true);
    expect(await one!.release()).toBe(true);
    expect((await guarded.enter('k')).allowed).toBe(true);
    store.trouble = 'none';
    expect(await another!.release()).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('a fallback goes on from the places the store has given, and gives none of them away', async () => {
    const timers = virtualTimers();
    const store = troubled(memoryStore({ clock: timers.clock }));
    const instead = memoryStore({ clock: timers.clock });
    const around = layered(store, fallback({ to: instead, warnings: false, clock: timers.clock }));
    const limiter = createLimiter({ policy: two, store: around, timers });
    const held = await limiter.enter('k');
    store.trouble = 'away';
    expect((await limiter.enter('k')).allowed).toBe(true);
    expect((await limiter.enter('k')).allowed).toBe(false);
    expect(await held.release()).toBe(false);
    expect((await limiter.enter('k')).allowed).toBe(false);
  });

  test('everything is allowed while a fallback allows everything, and nothing is lost', async () => {
    const timers = virtualTimers();
    const store = troubled(memoryStore({ clock: timers.clock }));
    const around = layered(store, fallback({ to: 'allow', warnings: false, clock: timers.clock }));
    const limiter = createLimiter({ policy: two, store: around, timers });
    store.trouble = 'away';
    const permit = await limiter.enter('k');
    await timers.run(100_000);
    expect([permit.allowed, permit.isHeld, permit.signal.aborted]).toEqual([true, true, false]);
    expect(await permit.release()).toBe(false);
  });

  test('in shadow nobody gives back the place of another', async () => {
    const { limiter } = limiterWith([two], (memory) => layered(memory, shadow()));
    const permits = [await limiter.enter('k'), await limiter.enter('k'), await limiter.enter('k')];
    expect(permits.map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(await permits[2]!.release()).toBe(false);
    expect((await limiter.attempt('k', { cost: 0 })).remaining).toBe(0);
    expect(await permits[0]!.release()).toBe(true);
  });

  test('beside a rate in shadow the place comes back all the same', async () => {
    const rate = tokenBucket({ capacity: 1, refillRate: '1/h' });
    const { limiter } = limiterWith([two, rate], (memory) => layered(memory, shadow({ policies: [rate.name] })));
    for (let at = 0; at < 5; at += 1) {
      const permit = await limiter.enter('k');
      expect(permit.allowed).toBe(true);
      expect(await permit.release()).toBe(true);
    }
  });
});
