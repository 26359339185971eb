/** Refunds, penalties and blocks among attempts: Redis must answer as the memory store does, to the microsecond and the last bit. */
import { describe, expect, it } from 'vitest';
import { manualClock, memoryStore, type Policy, type Store } from '../../src/index.ts';
import { limitOf } from '../../src/model/policy.ts';
import type { Change, Verdicts } from '../../src/model/store.ts';
import {
  KINDS,
  LATEST,
  memoryOf,
  type Random,
  randomCost,
  randomFrom,
  randomPolicy,
  randomStep,
  testSeed,
} from '../support/random.ts';
import { connectedTo } from './support/connected.ts';
import { SERVER_KINDS } from './support/topologies.ts';

const KEYS = 40;
const STEPS = 120;

type Spent = NonNullable<Extract<Change, { verb: 'refund' }>['spent']>;

function randomChange(random: Random, key: string, policy: Policy, spends: readonly Spent[]): Change {
  const cost = randomCost(random, limitOf(policy));
  const dice = random.real();
  if (dice < 0.55) {
    const spent = spends.length > 0 && random.real() < 0.7 ? random.pick(spends.slice(-4)) : undefined;
    return { verb: 'refund', key, policy, cost, spent };
  }
  if (dice < 0.8) return { verb: 'penalize', key, policy, cost };
  if (dice < 0.93) return { verb: 'block', key, policy, duration: Math.ceil(memoryOf(policy) * random.real()) };
  return { verb: 'unblock', key, policy };
}

describe.each(SERVER_KINDS)('%s', (kind) => {
  const { servers, connection } = connectedTo(kind);

  it.each(KINDS)('%s: whatever the order of attempts and changes', async (name) => {
    const seed = testSeed();
    console.log(`changes agree, ${name} on ${kind}: SLUICE_SEED=${seed}`);
    const random = randomFrom(seed);
    const clock = manualClock();
    const memory = memoryStore({ clock });
    const redis: Store = connection().store({ clock, prefix: `changes ${name}` });
    let refunded = 0;
    for (let at = 0; at < KEYS; at += 1) {
      const key = `key ${at}`;
      const policy = randomPolicy(random, name);
      let now = random.whole(0, 2e15);
      const spends: Spent[] = [];
      for (let step = 0; step < STEPS; step += 1) {
        now = Math.min(now + Math.floor(randomStep(random, policy, false) / 4), LATEST);
        clock.set(now / 1000);
        const where = (what: unknown): string =>
          `SLUICE_SEED=${seed}, ${key}, step ${step}, at ${now}: ${JSON.stringify(what)}`;
        if (random.real() < 0.6) {
          const check = { key, policy, cost: randomCost(random, limitOf(policy)) };
          const expected = memory.decide([check]);
          expect(plain(await redis.decide([check])), where(check)).toEqual(plain(expected));
          const { allowed, resetAfter } = expected.verdicts[0]!;
          if (allowed && check.cost > 0) {
            spends.push({ at: expected.now, until: expected.now + resetAfter, cost: check.cost });
          }
        } else {
          const change = randomChange(random, key, policy, spends);
          const expected = memory.change([change]);
          expect(plain(await redis.change([change])), where(change)).toEqual(plain(expected));
          if (change.verb === 'refund') refunded += expected.verdicts[0]!.changed!;
        }
      }
    }
    expect(refunded, 'refunds must have happened, or the test is blind').toBeGreaterThan(0);
  });

  it.each(KINDS)('%s: a block is kept until it ends, and no key is left without an end', async (name) => {
    const policy = randomPolicy(randomFrom(1), name);
    const store = connection().store({ prefix: `block ${name}` });
    const { verdicts } = await store.change([{ verb: 'block', key: 'k', policy, duration: 3_600_000_000 }]);
    expect(verdicts[0]).toMatchObject({ allowed: false, remaining: 0, retryAfter: 3_600_000_000 });
    const { command } = await servers.single();
    const [keyName] = (await command('KEYS', `block ${name}:*`)) as string[];
    const ttl = Number(await command('PTTL', keyName!));
    expect(ttl).toBeGreaterThan(3_590_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
    expect((await store.decide([{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(false);
    await store.change([{ verb: 'unblock', key: 'k', policy }]);
    expect((await store.decide([{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(true);
    await store.change([{ verb: 'block', key: 'k', policy, duration: 3_600_000_000 }]);
    await store.forget('k', [policy]);
    expect((await store.decide([{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(true);
  });
});

const plain = ({ now, verdicts }: Verdicts): unknown => ({ now, verdicts });
