/**
 * The shared store: state in Redis or Valkey, decided by one Lua script on the server's clock. An attempt is one script call,
 * whatever the number of its policies; a denied one writes nothing; every key expires when it no longer means anything.
 */
import type { Clock } from '../model/clock.ts';
import { checkClock, readMicros } from '../model/clock.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import { SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { algorithmCode, type Policy } from '../model/policy.ts';
import { type Check, checkIsLog, type Store, type Verdict, type Verdicts } from '../model/store.ts';
import { type KeyOptions, keyNamer } from './keys.ts';
import type { RunScript } from './run-script.ts';
import { decideScript, forgetScript, historyScript } from './scripts.generated.ts';

export interface RedisStoreOptions extends KeyOptions {
  /** For tests and simulations. Without it the server's own clock decides, which all processes share. */
  readonly clock?: Clock;
  /** The bare store, without the layers that keep answering when Redis does not. There are none yet: for now it changes nothing. */
  readonly raw?: boolean;
}

/** A store over any way to run a script. `sluice/node-redis`, `sluice/ioredis` and `sluice/valkey-glide` bring theirs. */
export function redisStoreOver(run: RunScript, options: RedisStoreOptions = {}): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'raw', 'clock'], 'redisStore');
  const nameOf = keyNamer(options);
  const clock = options.clock === undefined ? undefined : checkClock(options.clock, 'redisStore.clock');
  const now = (): string => (clock === undefined ? '' : String(readMicros(clock)));

  return {
    async decide(checks, { dryRun = false } = {}) {
      const keys = checks.map(({ key, policy }) => nameOf(key, policy));
      const args = [now(), dryRun ? '1' : '', ...checks.flatMap(checkWords)];
      return readVerdicts(await run(decideScript, keys, args), checks.length);
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

/** How a check is written for the script: algorithm, cost, and three arguments of the algorithm. */
export function checkWords({ policy, cost }: Check): string[] {
  return [algorithmCode(policy), String(cost), ...algorithmArguments(policy)];
}

/** The three arguments of each Lua algorithm, as its file names them. */
function algorithmArguments(policy: Policy): readonly [string, string, string] {
  switch (policy.algorithm) {
    case 'fixed-window':
      return [String(policy.limit), String(toMicros(policy.window)), policy.align];
    case 'sliding-window-log':
    case 'sliding-window-counter':
      return [String(policy.limit), String(toMicros(policy.window)), ''];
    case 'token-bucket':
      return [String(policy.capacity), String(policy.refillRate), ''];
    case 'leaky-bucket': {
      const { capacity, leakRate, mode } = policy;
      return [String(capacity), String(mode === 'shaping' ? MICROS_PER_SECOND / leakRate : leakRate), ''];
    }
    case 'gcra':
      return [String(policy.capacity), String(toMicros(policy.period) / policy.limit), ''];
  }
}

const NUMBERS_PER_CHECK = 5;

function readVerdicts(reply: unknown, checks: number): Verdicts {
  const numbers = String(reply).split(' ').map(Number);
  if (numbers.length !== 1 + checks * NUMBERS_PER_CHECK || numbers.some(Number.isNaN)) throw unexpected(reply);
  const verdicts: Verdict[] = [];
  for (let at = 1; at < numbers.length; at += NUMBERS_PER_CHECK) {
    const [allowed, remaining, retryAfter, resetAfter, delay] = numbers.slice(at, at + NUMBERS_PER_CHECK) as [
      number,
      number,
      number,
      number,
      number,
    ];
    verdicts.push({
      allowed: allowed === 1,
      remaining,
      retryAfter: retryAfter === -1 ? Number.POSITIVE_INFINITY : retryAfter,
      resetAfter,
      delay,
    });
  }
  return { now: numbers[0]!, verdicts, source: 'store' };
}

function readHistory(reply: unknown): HistoryEntry[] {
  if (!Array.isArray(reply)) throw unexpected(reply);
  const entries: HistoryEntry[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    entries.push({ at: Number(reply[at]) / MICROS_PER_SECOND, cost: Number(reply[at + 1]) });
  }
  return entries;
}

function unexpected(reply: unknown): SluiceError {
  return new SluiceError({
    code: 'SLUICE_UNEXPECTED_REPLY',
    path: 'redis',
    expected: "the reply of Sluice's own script",
    got: reply,
  });
}
