/**
 * The shared store: state in Redis or Valkey, decided by one Lua script on the server's clock. An attempt is at most one script call,
 * whatever the number of its policies; a denied one writes nothing; every key expires when it no longer means anything.
 */
import type { Clock } from '../model/clock.ts';
import { checkClock, readMicros } from '../model/clock.ts';
import { checkOptionNames } from '../model/options.ts';
import { type Check, checkIsLog, type Store, type Verdicts } from '../model/store.ts';
import { decideAcross, type GroupBySlot, type SlotStore } from './across-slots.ts';
import { type Answers, type Ask, askOne, askSeveral } from './ask.ts';
import { type BatchOptions, batchedAttempts } from './batch.ts';
import { type KeyNamer, type KeyOptions, keyNamer } from './keys.ts';
import { checkFunction, type RunScript } from './run-script.ts';
import { changeScript, forgetScript, historyScript } from './scripts.generated.ts';
import { slotOf } from './slot.ts';
import { changeWords, readChanges, readHistory, wirePolicy } from './wire.ts';

export interface RedisStoreOptions extends KeyOptions {
  /** For tests and simulations. Without it the server's own clock decides, which all processes share. */
  readonly clock?: Clock | undefined;
}

/** Right for every client, though not the fastest for any. */
const CAREFUL: BatchOptions = { most: 32, bySlot: true };

/**
 * The bare store over any way to run a script: it waits as long as that does, and rejects when that does. `redisStore` of `sluice/ioredis` and
 * its like puts the layers around it that keep answering.
 */
export function redisStoreOver(
  run: RunScript,
  options: RedisStoreOptions = {},
  batches: BatchOptions = CAREFUL,
): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock'], 'redisStore');
  checkFunction(run, 'redisStoreOver(run)', 'a function that runs a script, such as scriptRunner(send) makes it');
  const nameOf = keyNamer(options);
  const clock = options.clock === undefined ? undefined : checkClock(options.clock, 'redisStore.clock');
  const now = (): string => (clock === undefined ? '' : String(readMicros(clock)));
  const attempt = batchedAttempts(run, batches);
  const askFor = asker(nameOf);

  const inOneSlot: SlotStore = {
    decide(checks, options) {
      const ask = askFor(checks);
      if (options?.dryRun === true) return askSeveral(run, now(), [ask], true).then(onlyAnswer);
      // A supplied clock may move between two attempts of one turn, so there each goes by itself.
      return clock === undefined ? attempt(ask) : askOne(run, now(), ask).then(onlyAnswer);
    },
    async change(changes) {
      const keys = changes.map(({ key, policy }) => nameOf(key, policy));
      return readChanges(await run(changeScript, keys, [now(), ...changes.flatMap(changeWords)]), changes.length);
    },
  };

  return {
    decide: batches.bySlot ? decideAcross(inOneSlot, bySlot(nameOf)) : inOneSlot.decide,
    change: inOneSlot.change,
    async forget(key, policies) {
      await run(
        forgetScript,
        policies.map((policy) => nameOf(key, policy)),
        [],
      );
    },
    async history(key, policy) {
      checkIsLog(policy);
      return readHistory(await run(historyScript, [nameOf(key, policy)], [now(), ...wirePolicy(policy).words]));
    },
  };
}

/** All policies of one key share its slot, so only attempts on several keys can have several. */
function bySlot(nameOf: KeyNamer): GroupBySlot {
  return (checks) => {
    const [first] = checks;
    if (checks.every(({ key }) => key === first!.key)) return [checks.map((_, index) => index)];
    const groups = new Map<number, number[]>();
    for (const [index, { key, policy }] of checks.entries()) {
      const slot = slotOf(nameOf(key, policy));
      groups.set(slot, [...(groups.get(slot) ?? []), index]);
    }
    return [...groups.values()];
  };
}

/** How an attempt is asked of the scripts. That under one policy is the common case, and made without lists of policies. */
function asker(nameOf: KeyNamer): (checks: readonly Check[]) => Ask {
  return (checks) => {
    if (checks.length === 1) {
      const { key, policy, cost } = checks[0]!;
      const wire = wirePolicy(policy);
      return { identity: wire.identity, policies: wire.alone, keys: [nameOf(key, policy)], costs: [cost] };
    }
    const policies = checks.map(({ policy }) => wirePolicy(policy));
    return {
      identity: policies.map(({ identity }) => identity).join(','),
      policies,
      keys: checks.map(({ key, policy }) => nameOf(key, policy)),
      costs: checks.map(({ cost }) => cost),
    };
  };
}

function onlyAnswer({ now, each }: Answers): Verdicts {
  const [answer] = each;
  if (answer === undefined || answer instanceof Error) throw answer;
  return { now, verdicts: answer, source: 'store' };
}
