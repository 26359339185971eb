/**
 * A rolling upgrade to another format of states: processes with the old scripts and with the new ones, under traffic on the same keys at
 * the same time. Each format has keys of its own, so neither reads what the other wrote: nothing fails, nobody is locked out, and what is
 * admitted is bounded by one limit for each format. See "When the format of states changes" in docs/faults.md.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { manualClock, memoryStore, type Policy, type Store } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { decide } from '../support/asking.ts';
import {
  KINDS,
  policyOf,
  type Random,
  randomCost,
  randomFrom,
  randomPolicy,
  randomStep,
  testSeed,
} from '../support/random.ts';
import { attemptInFormat1, isInFormat1 } from './format-1/attempt.ts';
import { connectedTo } from './support/connected.ts';

const seed = testSeed();
afterAll(() => console.log(`upgrade: SLUICE_SEED=${seed}`));
const { connection, servers } = connectedTo('redis');

/** Log entries of format 1 are of one width, so a log with a name does not change its plan here. */
const OLD_KINDS = KINDS.filter((kind) => isInFormat1(policyOf(kind, { limit: 1, window: 1000, capacity: 1, rate: 1 })));
const ROWS = OLD_KINDS.flatMap((kind) => [
  { kind, name: 'plan' },
  { kind, name: undefined },
]);

interface Moment {
  readonly at: number;
  readonly cost: number;
  readonly isNew: boolean;
}

function traffic(random: Random, policy: Policy, length: number): Moment[] {
  let at = 1_763_280_000_000_000;
  return Array.from({ length }, () => {
    at += randomStep(random, policy, false);
    return { at, cost: randomCost(random, ruleOf(policy).limit), isNew: random.real() < 0.5 };
  });
}

describe.each(ROWS)('$kind, name: $name', ({ kind, name }) => {
  const title = `${kind} ${name}`;

  test('neither sees the other: each answers as if it were alone', async () => {
    for (let run = 0; run < 10; run += 1) {
      const random = randomFrom(seed + run);
      const policy = randomPolicy(random, kind, name);
      const clock = manualClock(0);
      const memory = memoryStore({ clock });
      const redis: Store = connection().store({ clock, prefix: `${title} ${run}` });
      for (const { at, cost, isNew } of traffic(random, policy, 200)) {
        clock.set(at / 1000);
        if (isNew) {
          const check = { key: 'ada', policy, cost };
          expect((await decide(redis, [check])).verdicts, `seed ${seed + run}`).toEqual(
            (await decide(memory, [check])).verdicts,
          );
        } else {
          const asked = { key: 'ada', policy, cost, now: at };
          const mixed = await attemptInFormat1(connection().run, `${title} ${run}`, asked);
          const alone = await attemptInFormat1(connection().run, `${title} ${run} alone`, asked);
          expect(mixed, `seed ${seed + run}`).toEqual(alone);
        }
      }
    }
  });

  test('while processes are replaced one by one, one limit for each format is admitted, and no more', async () => {
    const policy = policyOf(kind, { limit: 100, window: 86_400_000, capacity: 100, rate: 100 / 86_400 }, name);
    const prefix = `rolling ${title}`;
    const store = connection().store({ prefix });
    const admitted = { old: 0, new: 0 };
    const start = performance.now();
    // Ten processes, of which one more is new in every round; each asks five times at the same time as the others.
    for (let replaced = 0; replaced <= 10; replaced += 1) {
      const round = Array.from({ length: 50 }, async (_, index) => {
        if (index % 10 < replaced) {
          const { verdicts } = await decide(store, [{ key: 'ada', policy, cost: 1 }]);
          if (verdicts[0]!.allowed) admitted.new += 1;
          return;
        }
        const { allowed } = await attemptInFormat1(connection().run, prefix, { key: 'ada', policy, cost: 1, now: '' });
        if (allowed) admitted.old += 1;
      });
      await Promise.all(round);
    }
    const dripped = Math.ceil(((performance.now() - start) / 86_400_000) * 100);
    for (const count of [admitted.old, admitted.new]) {
      expect(count).toBeGreaterThanOrEqual(100);
      expect(count).toBeLessThanOrEqual(100 + dripped);
    }
  });
});

test('states of the old format expire by themselves', async () => {
  const { command } = await servers.single();
  const names = (await command('KEYS', 'rolling *')) as string[];
  expect(names).toHaveLength(ROWS.length * 2);
  for (const each of names) expect(Number(await command('PTTL', each)), each).toBeGreaterThan(0);
});
