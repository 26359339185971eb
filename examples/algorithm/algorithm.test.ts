/** An algorithm of your own, from its laws to Redis: in memory, on a store of your own, and with its Lua on a real server. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { createLimiter, memoryStore, type Store } from 'sluice';
import { redisStore, runScriptWith } from 'sluice/ioredis';
import { manualClock, storeContract } from 'sluice/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { histories, policies } from '../../packages/sluice/test/support/arbitraries.ts';
import { expectSameChanges } from '../../packages/sluice/test/support/changes.ts';
import { checkLaws } from '../../packages/sluice/test/support/laws.ts';
import { compareTwins } from '../../packages/sluice/test/support/parity.ts';
import { randomFrom, testSeed } from '../../packages/sluice/test/support/random.ts';
import { printLua } from '../../tools/lua.mjs';
import { type RunningServer, type ServerKind, startServer } from '../../tools/servers/index.ts';
import { runExample } from '../run-example.ts';
import { FarMap } from '../store/far-map.ts';
import { mapStore } from '../store/map-store.ts';
import { DEBT_BUCKET_LUA } from './debt-bucket.lua.ts';
import { debtSamples } from './debt-bucket.samples.ts';
import { debtBucket } from './debt-bucket.ts';

const [sample] = debtSamples;
const seed = testSeed();
afterAll(() => console.log(`algorithm of your own: seed ${seed}`));

test('it keeps the laws', () => {
  const laws = fc.property(
    policies(sample!).chain((policy) => fc.tuple(fc.constant(policy), histories(policy))),
    ([policy, history]) => checkLaws(policy, history),
  );
  fc.assert(laws, { seed, numRuns: 3000 });
});

/** A budget of 10 that may owe 5, a unit a second. */
async function story(store: Store, advance: (seconds: number) => void): Promise<unknown[]> {
  const policy = debtBucket({ capacity: 10, debt: 5, every: '1s', name: 'budget' });
  const limiter = createLimiter({ policy, store });
  const told: unknown[] = [];
  const tell = ({ allowed, remaining, retryAfter, resetAfter }: Awaited<ReturnType<typeof limiter.attempt>>) =>
    told.push([allowed, remaining, retryAfter, resetAfter]);
  tell(await limiter.attempt('ada', { cost: 8 }));
  told.push((await limiter.penalize('ada', { cost: 4 })).changed);
  tell(await limiter.attempt('ada'));
  told.push((await limiter.penalize('ada', { cost: 100 })).changed);
  tell(await limiter.attempt('ada'));
  advance(5.5);
  tell(await limiter.attempt('ada'));
  advance(0.5);
  tell(await limiter.attempt('ada'));
  tell(await limiter.attempt('ada', { cost: 11 }));
  return told;
}

const STORY = [
  [true, 2, null, 8],
  4, // two that were there, two that are owed
  [false, 0, 3, 12],
  3, // down to the bound of 5, and no further
  [false, 0, 6, 15],
  [false, 0, 0.5, 9.5],
  [true, 0, null, 10],
  [false, 0, Number.POSITIVE_INFINITY, 10],
];

describe('in memory', () => {
  const makeStore = ({ clock }: { clock: { now(): number } }) => memoryStore({ clock });
  for (const { name, run } of storeContract(makeStore, { samples: debtSamples })) {
    if (name.includes('debt-bucket')) test(name, run);
  }

  test('the story', async () => {
    const clock = manualClock(1_763_280_000_000);
    expect(await story(memoryStore({ clock }), (seconds) => clock.advance(seconds * 1000))).toEqual(STORY);
  });
});

describe('on a store of your own', () => {
  const network = { random: randomFrom(seed).real, loss: 0.2 };

  test('the story', async () => {
    const clock = manualClock(1_763_280_000_000);
    const store = mapStore(new FarMap(network, () => clock.now()));
    expect(await story(store, (seconds) => clock.advance(seconds * 1000))).toEqual(STORY);
  });

  test('whatever the order of attempts and changes, as in memory', async () => {
    const makeStore = (clock: { now(): number }): Store => mapStore(new FarMap(network), { clock });
    expect(await expectSameChanges(sample!, makeStore, seed)).toBeGreaterThan(0);
  });
});

test('its Lua is what the build of Sluice would take', () => {
  expect(printLua('debt-bucket.lua', DEBT_BUCKET_LUA)).toContain('local function transition(');
});

describe.each(['redis', 'valkey'] satisfies ServerKind[])('with its Lua on %s', (kind) => {
  let server: RunningServer;
  let client: Redis;
  let stores = 0;
  const store = (clock: { now(): number }): Store => {
    stores += 1;
    return redisStore(client, { clock, prefix: `debt ${stores}`, raw: true });
  };
  beforeAll(async () => {
    server = await startServer({ kind });
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  test('the story', async () => {
    const clock = manualClock(1_763_280_000_000);
    expect(await story(store(clock), (seconds) => clock.advance(seconds * 1000))).toEqual(STORY);
  });

  test('the twins agree on attempts, to the last digit', async () => {
    const { difference, steps } = await compareTwins(runScriptWith(client), seed, 100_000, debtSamples);
    expect(difference, `seed ${seed}`).toBeUndefined();
    expect(steps).toBe(100_000);
  });

  test('the twins agree on changes', async () => {
    expect(await expectSameChanges(sample!, store, seed)).toBeGreaterThan(0);
  });

  for (const { name, run } of storeContract(({ clock }) => store(clock), { samples: debtSamples })) {
    if (name.includes('debt-bucket') || !name.includes(':')) test(name, run);
  }
});

test('the demo', async () => {
  const { stdout, stderr } = await runExample('algorithm');
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toEqual([
    'asked for 800: allowed true, 200 remaining',
    'it took 1400: 600 more are spent, 200 that were there and 400 that are owed',
    'the next attempt: allowed false, in 24.06 s',
    'then: allowed true',
  ]);
});
