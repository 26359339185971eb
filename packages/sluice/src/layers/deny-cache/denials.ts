/** What the store has denied and would still deny, with the numbers it would tell: a bounded map. Times are whole microseconds. */
import type { Decision } from '../../model/decision.ts';
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { decidedAt, exactMicros, resultOf } from '../../model/result.ts';
import type { Answer, Check } from '../../model/store.ts';

interface Denial {
  /** Where it is found: by the key of its first check, and there by the rest of the attempt. */
  readonly firstKey: string;
  readonly rest: string;
  /** The checks that deny: spending from, or changing, another one cannot end the denial. */
  readonly denying: readonly Check[];
  readonly answer: Answer;
  /** On the local clock, before the attempt was sent. */
  readonly sentAt: number;
  readonly until: number;
}

/** Attempts with more text than this are not kept, so that `maxKeys` bounds the memory too: to some 20 MB at 10,000. */
const MAX_LENGTH = 1024;
/** Of the oldest denials, how many a new one looks at to see whether they are over. */
const COLLECT_EACH_TIME = 2;

export class Denials {
  readonly #maxKeys: number;
  readonly #maxAge: number;
  /** In the order they were made. */
  readonly all: ReadonlySet<Denial>;
  readonly #all = new Set<Denial>();
  readonly #byFirstKey = new Map<string, Map<string, Denial>>();
  readonly #byDenyingKey = new Map<string, Set<Denial>>();

  /** `maxAge` in microseconds. */
  constructor(maxKeys: number, maxAge: number) {
    this.#maxKeys = maxKeys;
    this.#maxAge = maxAge;
    this.all = this.#all;
  }

  /** What the store would say now, if that is known. */
  find(checks: readonly Check[], now: number): Answer | undefined {
    const denial = this.#lookUp(checks);
    if (denial === undefined) return undefined;
    if (now >= denial.sentAt && now < denial.until) return countedDown(denial.answer, now - denial.sentAt);
    this.#remove(denial);
    return undefined;
  }

  keep(checks: readonly Check[], answer: Answer, sentAt: number): void {
    const until = this.#exactUntil(checks, answer, sentAt);
    const firstKey = checks[0]!.key;
    const rest = restOf(checks);
    if (!(until > sentAt) || firstKey.length + rest.length > MAX_LENGTH) return;
    const denying = checks.filter((_, index) => !answer.decisions[index]!.allowed);
    // A place may be given back at any moment, and nobody is told.
    if (denying.some(({ policy }) => ruleOf(policy).permits !== undefined)) return;
    const known = this.#lookUp(checks);
    if (known !== undefined) this.#remove(known);
    this.#makeRoom(sentAt);
    this.#add({ firstKey, rest, denying, answer, sentAt, until });
  }

  /** Somebody has changed this key. */
  forget(key: string): void {
    for (const denial of this.#byDenyingKey.get(key) ?? []) this.#remove(denial);
  }

  /**
   * The store has answered for these. What it allowed was spent. And even what it denied may have changed a state that other numbers
   * are denied by: one that cannot be read under a policy is made to fit it (see "Clock steps" in docs/semantics.md).
   */
  answered(checks: readonly Check[], wasSpent: boolean): void {
    if (this.#all.size === 0) return;
    for (const { key, policy, cost } of checks) {
      if (cost === 0) continue;
      const isConcerned = (check: Check): boolean =>
        check.key === key && sharesState(check.policy, policy) && (wasSpent || textOf(check.policy) !== textOf(policy));
      for (const denial of this.#byDenyingKey.get(key) ?? []) {
        if (denial.denying.some(isConcerned)) this.#remove(denial);
      }
    }
  }

  #lookUp(checks: readonly Check[], atCost?: number): Denial | undefined {
    return this.#byFirstKey.get(checks[0]!.key)?.get(restOf(checks, atCost));
  }

  #exactUntil(checks: readonly Check[], answer: Answer, sentAt: number): number {
    const exact = sentAt + Math.min(exactFor(answer.decisions), this.#maxAge);
    if (checks.every(({ cost }, index) => cost === 1 || answer.decisions[index]!.allowed)) return exact;
    const single = this.#lookUp(checks, 1);
    // Only if it was decided after the denial of cost 1: before that, something may have been left, and spent by others.
    return single === undefined || decidedAt(answer) < decidedAt(single.answer)
      ? sentAt
      : Math.min(exact, single.until);
  }

  #makeRoom(now: number): void {
    let looked = 0;
    for (const denial of this.#all) {
      if (denial.until <= now || this.#all.size >= this.#maxKeys) this.#remove(denial);
      looked += 1;
      if (looked === COLLECT_EACH_TIME) return;
    }
  }

  #add(denial: Denial): void {
    this.#all.add(denial);
    madeIn(this.#byFirstKey, denial.firstKey, () => new Map<string, Denial>()).set(denial.rest, denial);
    for (const { key } of denial.denying) madeIn(this.#byDenyingKey, key, () => new Set<Denial>()).add(denial);
  }

  #remove(denial: Denial): void {
    this.#all.delete(denial);
    const { firstKey, rest, denying } = denial;
    const found = this.#byFirstKey.get(firstKey);
    found?.delete(rest);
    if (found?.size === 0) this.#byFirstKey.delete(firstKey);
    for (const { key } of denying) {
      const others = this.#byDenyingKey.get(key);
      others?.delete(denial);
      if (others?.size === 0) this.#byDenyingKey.delete(key);
    }
  }
}

function madeIn<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** For how many microseconds nothing but time changes these numbers, if a cost of 1 is denied too. 0 for not at all. */
function exactFor(decisions: readonly Decision[]): number {
  let time = Number.POSITIVE_INFINITY;
  for (const { allowed, remaining, retryAfter, resetAfter } of decisions) {
    if (allowed && resetAfter > 0) time = Math.min(time, exactMicros(resetAfter));
    if (allowed) continue;
    if (remaining > 0 || retryAfter === Number.POSITIVE_INFINITY) return 0;
    time = Math.min(time, exactMicros(retryAfter!));
  }
  return time;
}

/** `elapsed` in microseconds. In whole microseconds, so that it is what the store would say. */
function countedDown({ decisions }: Answer, elapsed: number): Answer {
  const later = decisions.map((decision): Decision => {
    const { allowed, retryAfter, resetAfter, resetAt } = decision;
    const reset = exactMicros(resetAfter) - elapsed;
    return {
      ...decision,
      retryAfter: allowed ? null : (exactMicros(retryAfter!) - elapsed) / MICROS_PER_SECOND,
      resetAfter: Math.max(0, reset) / MICROS_PER_SECOND,
      resetAt: reset >= 0 ? resetAt : (exactMicros(resetAt) - reset) / MICROS_PER_SECOND,
    };
  });
  return resultOf(later, 'deny-cache');
}

/**
 * All but the first key: the policies with all their numbers, the costs, and the other keys with their lengths, so that no two
 * different attempts on that key have the same. The common case, one policy and cost 1, is a text that exists already: putting one
 * together costs more than finding it.
 */
function restOf(checks: readonly Check[], atCost?: number): string {
  const { policy, cost } = checks[0]!;
  const first = withCost(textOf(policy), atCost ?? cost);
  return checks.length === 1 ? first : first + othersOf(checks, atCost);
}

function othersOf(checks: readonly Check[], atCost: number | undefined): string {
  let others = '';
  for (const { key, policy, cost } of checks.slice(1)) {
    others += `${key.length}:${key}${withCost(textOf(policy), atCost ?? cost)}`;
  }
  return others;
}

function withCost(text: string, cost: number): string {
  return cost === 1 ? text : `${text}x${cost};`;
}

/** Which state, and under which numbers. */
function textOf(policy: Policy): string {
  const { identity, numbers } = ruleOf(policy);
  return `${identity} ${numbers};`;
}

function sharesState(one: Policy, other: Policy): boolean {
  return ruleOf(one).identity === ruleOf(other).identity;
}
