/** Refunds, penalties and blocks among attempts, on the memory store and on another: the answers must be the same to the last bit. */
import { expect } from 'vitest';
import { type Clock, manualClock, memoryStore, type Policy, type Store } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import type { Change } from '../../src/model/store.ts';
import { change, decide, type Seen } from './asking.ts';
import {
  type AnyKind,
  LATEST,
  memoryOf,
  type Random,
  randomCost,
  randomFrom,
  randomPolicy,
  randomStep,
} from './random.ts';

const KEYS = 40;
const STEPS = 120;

type Spent = NonNullable<Extract<Change, { verb: 'refund' }>['spent']>;

function randomChange(random: Random, key: string, policy: Policy, spends: readonly Spent[]): Change {
  const cost = randomCost(random, ruleOf(policy).limit);
  const dice = random.real();
  if (dice < 0.15 && ruleOf(policy).permits !== undefined && spends.length > 0) {
    return { verb: 'extend', key, policy, spent: random.pick(spends.slice(-4)) };
  }
  if (dice < 0.55) {
    const spent = spends.length > 0 && random.real() < 0.7 ? random.pick(spends.slice(-4)) : undefined;
    return { verb: 'refund', key, policy, cost, spent };
  }
  if (dice < 0.8) return { verb: 'penalize', key, policy, cost };
  if (dice < 0.93) return { verb: 'block', key, policy, duration: Math.ceil(memoryOf(policy) * random.real()) };
  return { verb: 'unblock', key, policy };
}

const plain = ({ now, verdicts }: Seen): unknown => ({ now, verdicts });

/** Returns how many units were refunded: none would mean that the test is blind. */
export async function expectSameChanges(
  kind: AnyKind,
  makeStore: (clock: Clock) => object,
  seed: number,
): Promise<number> {
  const random = randomFrom(seed);
  const clock = manualClock();
  const memory = memoryStore({ clock });
  const other = makeStore(clock) as Store;
  let refunded = 0;
  for (let at = 0; at < KEYS; at += 1) {
    const key = `key ${at}`;
    const policy = randomPolicy(random, kind);
    let now = random.whole(0, 2e15);
    const spends: Spent[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      now = Math.min(now + Math.floor(randomStep(random, policy, false) / 4), LATEST);
      clock.set(now / 1000);
      const where = (what: unknown): string =>
        `SLUICE_SEED=${seed}, ${key}, step ${step}, at ${now}: ${JSON.stringify(what)}`;
      if (random.real() < 0.6) {
        const check = { key, policy, cost: randomCost(random, ruleOf(policy).limit) };
        const expected = await decide(memory, [check]);
        expect(plain(await decide(other, [check])), where(check)).toEqual(plain(expected));
        const { allowed, resetAfter } = expected.verdicts[0]!;
        if (allowed && check.cost > 0) {
          spends.push({ at: expected.now, until: expected.now + resetAfter, cost: check.cost });
        }
      } else {
        const next = randomChange(random, key, policy, spends);
        const expected = await change(memory, [next]);
        expect(plain(await change(other, [next])), where(next)).toEqual(plain(expected));
        if (next.verb === 'refund') refunded += expected.verdicts[0]!.changed!;
      }
    }
  }
  return refunded;
}
