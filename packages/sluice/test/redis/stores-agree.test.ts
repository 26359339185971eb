/**
 * Parity compares transitions. This compares whole stores: an attempt under one policy has a script of its own, one under several
 * has another, and a dry run goes another way through both. All must answer as the memory store does, to the microsecond.
 */
import { describe, expect, it } from 'vitest';
import { fixedWindow, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { type Check, decide, type Verdict } from '../support/asking.ts';
import { KINDS, LATEST, randomCost, randomFrom, randomPolicy, randomStep, testSeed } from '../support/random.ts';
import { connectedTo } from './support/connected.ts';
import { SERVER_KINDS } from './support/topologies.ts';

const KEYS = 40;
const ATTEMPTS = 150;
/** Never says no, so that what it is decided together with decides. */
const ROOMY = fixedWindow({ name: 'roomy', limit: Number.MAX_SAFE_INTEGER, window: '36500d' });

describe.each(SERVER_KINDS)('%s', (kind) => {
  const { connection } = connectedTo(kind);

  it.each(KINDS)('%s: alone, with others and in memory, spent and looked at', async (name) => {
    const seed = testSeed();
    console.log(`stores agree, ${name} on ${kind}: SLUICE_SEED=${seed}`);
    const random = randomFrom(seed);
    const clock = manualClock();
    const stores = {
      memory: memoryStore({ clock }),
      alone: connection().store({ clock, prefix: `alone ${name}` }),
      together: connection().store({ clock, prefix: `together ${name}` }),
    };
    // A server that does not know a script is asked twice, which would change the order below.
    const taught: Check = { key: 'taught', policy: randomPolicy(random, name), cost: 0 };
    await decide(stores.alone, [taught]);
    await decide(stores.alone, [taught], { dryRun: true });
    for (const dryRun of [false, true]) {
      await decide(stores.together, [taught, { ...taught, policy: ROOMY }], { dryRun });
    }
    for (let at = 0; at < KEYS; at += 1) {
      let now = random.whole(0, 2e15);
      // One for all attempts: a longer window would ask for what the shorter one before it has forgotten.
      const policy = randomPolicy(random, name);
      // The script for one attempt may have the numbers of its policy in it, so there is one for each.
      await decide(stores.alone, [{ key: 'taught', policy, cost: 0 }]);
      const answers: Record<keyof typeof stores, Promise<Answer>[]> = {
        memory: [],
        alone: [],
        together: [],
      };
      const asked: string[] = [];
      // One connection keeps the order, so there is no need to wait for one answer before the next question.
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        // Only forwards: what is out of date may be forgotten, and a clock that goes back would ask for it again.
        now = Math.min(now + randomStep(random, policy, false), LATEST);
        clock.set(now / 1000);
        const check: Check = { key: `key ${at}`, policy, cost: randomCost(random, ruleOf(policy).limit) };
        const options = { dryRun: random.real() < 0.2 };
        asked.push(`${now} ${JSON.stringify({ ...check, ...options })}`);
        answers.memory.push(firstOf(stores.memory, [check], options));
        answers.alone.push(firstOf(stores.alone, [check], options));
        answers.together.push(firstOf(stores.together, [check, { ...check, policy: ROOMY }], options));
      }
      const [memory, alone, together] = await Promise.all(
        [answers.memory, answers.alone, answers.together].map((list) => Promise.all(list)),
      );
      for (const [index, question] of asked.entries()) {
        const where = `SLUICE_SEED=${seed}, key ${at}, attempt ${index}: ${question}`;
        expect(alone![index], where).toEqual(memory![index]);
        expect(together![index], where).toEqual(memory![index]);
      }
    }
  });
});

interface Answer extends Verdict {
  readonly now: number;
}

async function firstOf(store: Store, checks: readonly Check[], options: { dryRun: boolean }): Promise<Answer> {
  const { now, verdicts } = await decide(store, checks, options);
  const { allowed, remaining, retryAfter, resetAfter, delay } = verdicts[0]!;
  return { now, allowed, remaining, retryAfter, resetAfter, delay };
}
