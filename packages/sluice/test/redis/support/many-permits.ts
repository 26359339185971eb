/** Thousands of permits on one key, where Redis no longer reads and writes all of them: it must answer as the memory store does, to the last bit. */
import { expect } from 'vitest';
import { type Clock, concurrency, manualClock, memoryStore, type Store } from '../../../src/index.ts';
import type { Spent } from '../../../src/model/step.ts';
import type { Change } from '../../../src/model/store.ts';
import { change, decide, type Seen } from '../../support/asking.ts';
import { randomFrom } from '../../support/random.ts';

const KEY = 'busy';
const LIMIT = 700;
const TTL_MS = 2000;
const plain = ({ now, verdicts }: Seen): unknown => ({ now, verdicts });

/** What happens more often in one part of a trace than in another: places fill up, change hands, are kept, empty. */
const PARTS = [
  { enter: 0.95, release: 0.03, extend: 0.02 },
  { enter: 0.45, release: 0.45, extend: 0.08 },
  { enter: 0.05, release: 0.1, extend: 0.84 },
  { enter: 0.1, release: 0.85, extend: 0.04 },
] as const;

/** Returns the most permits that were held at a time. */
export async function expectSamePermits(
  makeStore: (clock: Clock) => Store,
  seed: number,
  steps: number,
): Promise<number> {
  const random = randomFrom(seed);
  const clock = manualClock(0);
  const [memory, other] = [memoryStore({ clock }), makeStore(clock)];
  const policy = concurrency({ name: 'many', limit: LIMIT, ttl: TTL_MS });
  let now = 1_763_280_000_000_000;
  let held: Spent[] = [];
  let most = 0;
  const same = async (next: Change, where: string): Promise<Seen> => {
    const expected = await change(memory, [next]);
    expect(plain(await change(other, [next])), where).toEqual(plain(expected));
    return expected;
  };
  for (let step = 0; step < steps; step += 1) {
    const part = PARTS[Math.floor((step * PARTS.length) / steps)]!;
    now += random.whole(0, random.real() < 0.01 ? 400_000 : 900);
    clock.set(now / 1000);
    const where = `SLUICE_SEED=${seed}, step ${step}`;
    const dice = random.real();
    if (dice < part.enter) {
      const check = { key: KEY, policy, cost: random.pick([1, 1, 1, 2, 5]) };
      const expected = await decide(memory, [check]);
      expect(plain(await decide(other, [check])), where).toEqual(plain(expected));
      const { allowed, resetAfter } = expected.verdicts[0]!;
      if (allowed) held.push({ at: now, until: now + resetAfter, cost: check.cost });
    } else if (dice < part.enter + part.release && held.length > 0) {
      // Recent ones, old ones, and any.
      const at = Math.floor(held.length * random.pick([0.999, 0, random.real()]));
      const spent = held[at]!;
      const cost = random.pick([spent.cost, spent.cost, 1]);
      await same({ verb: 'refund', key: KEY, policy, cost, spent }, where);
      if (cost >= spent.cost) held.splice(at, 1);
    } else if (dice < part.enter + part.release + part.extend && held.length > 0) {
      await same({ verb: 'extend', key: KEY, policy, spent: random.pick(held) }, where);
    } else if (dice < 0.995) await same({ verb: 'refund', key: KEY, policy, cost: random.whole(1, 9) }, where);
    else {
      const block: Change = { verb: 'block', key: KEY, policy, duration: random.whole(1, 3000) };
      await same(random.real() < 0.5 ? block : { verb: 'unblock', key: KEY, policy }, where);
    }
    held = held.filter(({ until }) => until > now - 10 * TTL_MS * 1000);
    most = Math.max(most, held.length);
  }
  return most;
}
