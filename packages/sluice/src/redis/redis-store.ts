/**
 * The shared store: state in Redis or Valkey, decided by one Lua script on the server's clock. An attempt is at most one script call,
 * whatever the number of its policies; a denied one writes nothing; every key expires when it no longer means anything.
 */
import type { Clock } from '../model/clock.ts';
import { checkClock, readMicros } from '../model/clock.ts';
import { toMicros } from '../model/duration.ts';
import { checkFlag, checkOptionNames } from '../model/options.ts';
import { type Check, checkIsLog, type Store } from '../model/store.ts';
import { type BatchOptions, batchedAttempts } from './batch.ts';
import { type KeyOptions, keyNamer } from './keys.ts';
import { checkFunction, type RunScript, type Script } from './run-script.ts';
import { decideOneScripts, decideScript, forgetScript, historyScript } from './scripts.generated.ts';
import { readAnswers, readHistory, wirePolicy } from './wire.ts';

export interface RedisStoreOptions extends KeyOptions {
  /** For tests and simulations. Without it the server's own clock decides, which all processes share. */
  readonly clock?: Clock | undefined;
  /** The bare store, without the layers that keep answering when Redis does not. There are none yet: for now it changes nothing. */
  readonly raw?: boolean | undefined;
}

/** Right for every client, though not the fastest for any. */
const CAREFUL: BatchOptions = { most: 32, bySlot: true };

/** A store over any way to run a script. `sluice/node-redis`, `sluice/ioredis` and `sluice/valkey-glide` bring theirs. */
export function redisStoreOver(
  run: RunScript,
  options: RedisStoreOptions = {},
  batches: BatchOptions = CAREFUL,
): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'raw', 'clock'], 'redisStore');
  checkFunction(run, 'redisStoreOver(run)', 'a function that runs a script, such as scriptRunner(send) makes it');
  checkFlag(options.raw, 'redisStore.raw');
  const nameOf = keyNamer(options);
  const clock = options.clock === undefined ? undefined : checkClock(options.clock, 'redisStore.clock');
  const now = (): string => (clock === undefined ? '' : String(readMicros(clock)));
  const attempt = batchedAttempts(run, batches);

  return {
    async decide(checks, { dryRun = false } = {}) {
      // A supplied clock may move between two attempts of one turn, so there each goes by itself.
      if (checks.length === 1 && !dryRun && clock === undefined) {
        const { key, policy, cost } = checks[0]!;
        return attempt(nameOf(key, policy), policy, cost);
      }
      const keys = checks.map(({ key, policy }) => nameOf(key, policy));
      const args = [now(), dryRun ? '1' : '', ...checks.flatMap(checkWords)];
      return { ...readAnswers(await run(scriptFor(checks), keys, args), checks.length), source: 'store' };
    },
    async forget(key, policies) {
      await run(
        forgetScript,
        policies.map((policy) => nameOf(key, policy)),
        [],
      );
    },
    async history(key, policy) {
      const { window } = checkIsLog(policy);
      return readHistory(await run(historyScript, [nameOf(key, policy)], [now(), String(toMicros(window))]));
    },
  };
}

/** How a check is written for decide.lua: algorithm, cost, and three arguments of the algorithm. */
export function checkWords({ policy, cost }: Check): string[] {
  const { code, words } = wirePolicy(policy);
  return [code, String(cost), ...words];
}

/** One policy is the common case, and a script that carries one algorithm is the cheapest to run. */
function scriptFor(checks: readonly Check[]): Script {
  return checks.length === 1 ? decideOneScripts[wirePolicy(checks[0]!.policy).code] : decideScript;
}
