/** A store of your own over a Map behind a bad network: it keeps the whole contract, and what it admits is exact. */
import { createLimiter, memoryStore, slidingWindowLog, tokenBucket } from 'sluice';
import { manualClock, storeContract } from 'sluice/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { randomFrom, testSeed } from '../../packages/sluice/test/support/random.ts';
import { debtSamples } from '../algorithm/debt-bucket.samples.ts';
import { runExample } from '../run-example.ts';
import { FarMap, NoReply } from './far-map.ts';
import { mapStore } from './map-store.ts';

const seed = testSeed();
afterAll(() => console.log(`store of your own: seed ${seed}`));

describe.each([0, 0.3])('a part of %d of all messages is lost', (loss) => {
  const makeStore = ({ clock }: { clock: { now(): number } }) =>
    mapStore(new FarMap({ random: randomFrom(seed).real, loss }, () => clock.now()));
  for (const { name, run } of storeContract(makeStore, { samples: debtSamples })) test(name, run);
});

test('four processes at the same time: every unit is accounted for', async () => {
  const clock = manualClock(1_763_280_000_000);
  for (let run = 0; run < 20; run += 1) {
    const random = randomFrom(seed + run).real;
    const map = new FarMap({ random, loss: 0.3 }, () => clock.now());
    const policy = tokenBucket({ capacity: 100, refillRate: '1/h' });
    const limiters = Array.from({ length: 4 }, () =>
      createLimiter({ policy, store: mapStore(map, { clock, tries: 10_000 }) }),
    );
    const answers = await Promise.allSettled(
      Array.from({ length: 160 }, (_, index) => limiters[index % 4]!.attempt('ada')),
    );
    const lost = answers.filter((answer) => answer.status === 'rejected');
    for (const { reason } of lost) expect(reason).toBeInstanceOf(NoReply);
    const allowed = answers.filter((answer) => answer.status === 'fulfilled' && answer.value.allowed).length;
    const { remaining } = await createLimiter({ policy, store: mapStore(map, { clock }) }).peek('ada');
    expect(allowed).toBeLessThanOrEqual(100 - remaining);
    // Those who share a swap whose reply is lost for good share its fate.
    expect(100 - remaining - allowed, `seed ${seed + run}`).toBeLessThanOrEqual(lost.length);
  }
});

test('the same answers as in memory', async () => {
  const clock = manualClock(1_763_280_000_000);
  const policies = [slidingWindowLog({ limit: 7, window: '10s' }), tokenBucket({ capacity: 5, refillRate: 1 })];
  const map = new FarMap({ random: randomFrom(seed).real, loss: 0.2 }, () => clock.now());
  const [far, near] = [mapStore(map, { clock }), memoryStore({ clock })].map((store) =>
    createLimiter({ policies, store }),
  );
  for (let step = 0; step < 200; step += 1) {
    clock.advance(step % 7 === 0 ? 1500 : 13);
    const cost = step % 4;
    expect(await far!.attempt('ada', { cost })).toEqual(await near!.attempt('ada', { cost }));
  }
});

test('what no longer means anything may be forgotten', async () => {
  const clock = manualClock(1_763_280_000_000);
  const map = new FarMap({ random: randomFrom(seed).real, loss: 0 }, () => clock.now());
  const limiter = createLimiter({ policy: tokenBucket({ capacity: 5, refillRate: 1 }), store: mapStore(map) });
  const { resetAfter } = await limiter.attempt('ada', { cost: 3 });
  clock.advance(resetAfter * 1000 - 1);
  expect(map.sweep()).toBe(1);
  clock.advance(1);
  expect(map.sweep()).toBe(0);
});

test('the demo', async () => {
  const { stdout, stderr } = await runExample('store');
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^\d+ allowed, \d+ denied, \d+ without an answer\n\d+ remaining/);
  const [allowed, denied, unknown, remaining] = stdout.match(/\d+/g)!.map(Number);
  expect(allowed! + denied! + unknown!).toBe(30);
  expect(allowed).toBeLessThanOrEqual(10 - remaining!);
});
