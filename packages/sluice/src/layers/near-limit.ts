/**
 * Calls a hook when a key has used a share of a limit: to warn a customer at 80 % of a quota before anybody is denied.
 *
 * The attempt that crosses the line says so by itself: before it less than the share was used, after it at least that. So nothing has to be
 * remembered to find it, and of all processes that share a store exactly one sees it. What is remembered is who was reported, so that a bucket that
 * refills and is spent again around the line is not reported each time: until everything has come back once, or a bounded number of others later.
 */
import { type Clock, checkClock, monotonicClock, readMicros } from '../model/clock.ts';
import type { Decision } from '../model/decision.ts';
import { proceed } from '../model/maybe-promise.ts';
import { checkCount, checkOptionNames, invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { exactMicros } from '../model/result.ts';
import { type Answer, type Attempt, type Check, checksOf } from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import { type Layer, layerOf } from './layered.ts';

/** What `nearLimit` takes. */
export interface NearLimitOptions {
  /** The part of a limit at which the hook is called: more than 0, at most 1. Default: 0.8. */
  readonly share?: number | undefined;
  /** Called once when a key reaches the share, in the process whose attempt reached it. */
  readonly onNearLimit: Hook<NearLimit>;
  /** How many keys are remembered as reported, at most. Default: 10,000. When one is forgotten it may be reported again. */
  readonly maxKeys?: number | undefined;
  /** For tests. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

/** A key that has used the share of a limit. */
export interface NearLimit {
  readonly key: string;
  readonly policy: Policy;
  /** The part of the limit that is used now, from 0 to 1. */
  readonly used: number;
  /** What the attempt was told. */
  readonly decision: Decision;
}

const DEFAULT_SHARE = 0.8;
const DEFAULT_MAX_KEYS = 10_000;

/**
 * Calls a hook when a key has used a share of a limit, once until the key has reset.
 *
 * @example
 * const store = layered(redisStore(client), nearLimit({ share: 0.8, onNearLimit: ({ key, used }) => notify(key, used) }));
 */
export function nearLimit(options: NearLimitOptions): Layer {
  checkOptionNames(options, ['share', 'onNearLimit', 'maxKeys', 'clock'], 'nearLimit');
  const { share = DEFAULT_SHARE, onNearLimit } = options;
  if (!(typeof share === 'number' && share > 0 && share <= 1)) {
    throw invalidOption('nearLimit.share', 'a number above 0 and at most 1, such as 0.8', share);
  }
  checkHook(onNearLimit, 'nearLimit.onNearLimit');
  if (onNearLimit === undefined) throw invalidOption('nearLimit.onNearLimit', 'a function', onNearLimit);
  const clock = checkClock(options.clock ?? monotonicClock, 'nearLimit.clock');
  const maxKeys = checkCount(options.maxKeys ?? DEFAULT_MAX_KEYS, 'nearLimit.maxKeys');
  return layerOf('nearLimit', (inner) => {
    const reported = new Reported(maxKeys);
    const look = (attempt: Attempt, answer: Answer): Answer => {
      if (!answer.allowed) return answer;
      const checks = checksOf(attempt);
      for (let index = 0; index < checks.length; index += 1) {
        const check = checks[index]!;
        const decision = answer.decisions[index]!;
        if (!crosses(decision, check.cost, share) || !reported.add(check, decision, readMicros(clock))) continue;
        const { key, policy } = check;
        callHook(onNearLimit, { key, policy, used: 1 - decision.remaining / decision.limit, decision });
      }
      return answer;
    };
    return (question) =>
      question.verb !== 'attempt' || question.dryRun
        ? inner.ask(question)
        : proceed(inner.ask(question), (answer) => look(question, answer));
  });
}

/** Whether this attempt was the one that reached the share. */
function crosses({ allowed, limit, remaining }: Decision, cost: number, share: number): boolean {
  const line = limit - limit * share;
  return allowed && remaining <= line && remaining + cost > line;
}

/** Who was reported, and until when that holds, in the order of their reports. */
class Reported {
  readonly #until = new Map<string, number>();
  readonly #maxKeys: number;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** False when it was reported already and has not reset since. */
  add({ key, policy }: Check, { resetAfter }: Decision, now: number): boolean {
    const name = `${ruleOf(policy).identity} ${key}`;
    if ((this.#until.get(name) ?? 0) > now) return false;
    this.#until.delete(name);
    this.#until.set(name, now + exactMicros(resetAfter));
    if (this.#until.size > this.#maxKeys) this.#until.delete(this.#until.keys().next().value!);
    return true;
  }
}
