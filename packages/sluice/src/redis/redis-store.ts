/**
 * The shared store: state in Redis or Valkey, decided by one Lua script on the server's clock. An attempt is one script call,
 * whatever the number of its policies; a denied one writes nothing; every key expires when it no longer means anything.
 */
import type { Clock } from '../model/clock.ts';
import { checkClock, readMicros } from '../model/clock.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { checkFlag, checkOptionNames } from '../model/options.ts';
import { algorithmCode, type Policy } from '../model/policy.ts';
import { type Check, checkIsLog, type Store, type Verdict, type Verdicts } from '../model/store.ts';
import { type KeyOptions, keyNamer } from './keys.ts';
import type { RunScript, Script } from './run-script.ts';
import { decideOneScripts, decideScript, forgetScript, historyScript } from './scripts.generated.ts';

export interface RedisStoreOptions extends KeyOptions {
  /** For tests and simulations. Without it the server's own clock decides, which all processes share. */
  readonly clock?: Clock | undefined;
  /** The bare store, without the layers that keep answering when Redis does not. There are none yet: for now it changes nothing. */
  readonly raw?: boolean | undefined;
}

/** A store over any way to run a script. `sluice/node-redis`, `sluice/ioredis` and `sluice/valkey-glide` bring theirs. */
export function redisStoreOver(run: RunScript, options: RedisStoreOptions = {}): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'raw', 'clock'], 'redisStore');
  checkRun(run);
  checkFlag(options.raw, 'redisStore.raw');
  const nameOf = keyNamer(options);
  const clock = options.clock === undefined ? undefined : checkClock(options.clock, 'redisStore.clock');
  const now = (): string => (clock === undefined ? '' : String(readMicros(clock)));

  return {
    async decide(checks, { dryRun = false } = {}) {
      const keys = checks.map(({ key, policy }) => nameOf(key, policy));
      const args = [now(), dryRun ? '1' : '', ...checks.flatMap(checkWords)];
      return readVerdicts(await run(scriptFor(checks), keys, args), checks.length);
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

/** One policy is the common case, and a script that carries one algorithm is the cheapest to run. */
function scriptFor(checks: readonly Check[]): Script {
  return checks.length === 1 ? decideOneScripts[algorithmCode(checks[0]!.policy)] : decideScript;
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
      return mode === 'shaping'
        ? [String(capacity), String(MICROS_PER_SECOND / leakRate), '1']
        : [String(capacity), String(leakRate), ''];
    }
    case 'gcra':
      return [String(policy.capacity), String(toMicros(policy.period) / policy.limit), ''];
  }
}

const NUMBERS_PER_CHECK = 5;

function readVerdicts(reply: unknown, checks: number): Verdicts {
  const words = String(reply).split(' ');
  if (words.length !== 1 + checks * NUMBERS_PER_CHECK || !words.every(isWhole)) throw unexpected(reply);
  const numbers = words.map(Number);
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
  if (!Array.isArray(reply) || reply.length % 2 !== 0 || !reply.every(isWhole)) throw unexpected(reply);
  const entries: HistoryEntry[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    entries.push({ at: Number(reply[at]) / MICROS_PER_SECOND, cost: Number(reply[at + 1]) });
  }
  return entries;
}

function isWhole(word: unknown): boolean {
  return /^-?\d+$/.test(String(word));
}

function checkRun(run: unknown): void {
  if (typeof run === 'function') return;
  throw new SluiceError({
    code: 'SLUICE_INVALID_CLIENT',
    path: 'redisStoreOver(run)',
    expected: 'a function that runs a script, such as scriptRunner(send) makes it',
    got: Kind.of(run),
  });
}

function unexpected(reply: unknown): SluiceError {
  return new SluiceError({
    code: 'SLUICE_UNEXPECTED_REPLY',
    path: 'redis',
    expected: "the reply of Sluice's own script",
    got: reply,
  });
}
