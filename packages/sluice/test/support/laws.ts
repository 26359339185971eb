/**
 * The laws of docs/semantics.md as checks on one random history of one key. Each throws with the law's name, the step and what was
 * seen. Laws about stores (all or nothing, keys apart) are in the store contract; twins agreeing is parity.
 */
import { type Policy, ruleOf } from '../../src/model/policy.ts';
import type { Verdict } from '../../src/model/result.ts';
import { type Twin, typescriptTwin } from './reference.ts';

/** Seconds do not matter to the laws: times are microseconds. */
export interface Moment {
  readonly now: number;
  readonly cost: number;
}

interface Seen extends Moment {
  readonly verdict: Verdict;
}

export function checkLaws(policy: Policy, history: readonly Moment[]): void {
  const twin = typescriptTwin();
  const seen: Seen[] = [];
  for (const moment of history) {
    const before = twin.look(moment.now, 0, policy);
    const verdict = twin.attempt(moment.now, moment.cost, policy);
    seen.push({ ...moment, verdict });
    const fail = (law: string, detail: unknown): never => {
      throw new Error(`${law}\n${JSON.stringify({ policy, step: seen.length, moment, verdict, detail })}`);
    };
    numbersAreWhole(verdict, fail);
    answersAreConsistent(twin, policy, moment, verdict, before, fail);
    promiseIsExact(twin, policy, moment, verdict, fail);
    forgettingIsInvisible(twin, policy, moment, verdict, fail);
    backwardsIsHarmless(twin, policy, moment, fail);
  }
  boundHolds(policy, seen);
  forgettingStaysInvisible(policy, history);
}

/** Law 3 again, from then on: once resetAfter has passed, the same traffic gets the same answers with the old state and without. */
function forgettingStaysInvisible(policy: Policy, history: readonly Moment[]): void {
  const [old, none] = [typescriptTwin(), typescriptTwin()];
  const last = history.map(({ now, cost }) => ({ now, verdict: old.attempt(now, cost, policy) })).at(-1)!;
  const later = last.now + last.verdict.resetAfter - history[0]!.now;
  for (const { now, cost } of history) {
    const [seen, fresh] = [old, none].map((twin) => answer(twin.attempt(now + later, cost, policy)));
    if (seen !== fresh)
      throw new Error(`3: forgetting stays invisible\n${JSON.stringify({ policy, history, now, seen, fresh })}`);
  }
}

type Fail = (law: string, detail: unknown) => never;

function numbersAreWhole({ remaining, retryAfter, resetAfter, delay }: Verdict, fail: Fail): void {
  const whole = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;
  if (!whole(remaining) || !whole(resetAfter) || !whole(delay)) fail('numbers are whole', {});
  if (!whole(retryAfter) && retryAfter !== Number.POSITIVE_INFINITY) fail('numbers are whole', {});
}

function answersAreConsistent(
  twin: Twin,
  policy: Policy,
  { now, cost }: Moment,
  verdict: Verdict,
  before: Verdict,
  fail: Fail,
): void {
  const after = twin.look(now, 0, policy);
  if (verdict.allowed !== cost <= before.remaining) fail('remaining is what would be allowed', before);
  if (verdict.remaining !== after.remaining) fail('2: cost 0 looks, and its numbers are true', after);
  if (verdict.resetAfter !== after.resetAfter) fail('2: cost 0 looks, and its numbers are true', after);
  const changed = after.remaining !== before.remaining || after.resetAfter !== before.resetAfter;
  if ((!verdict.allowed || cost === 0) && changed) fail('1: denied changes nothing', { before, after });
  if (cost > ruleOf(policy).limit && verdict.retryAfter !== Number.POSITIVE_INFINITY)
    fail('9: above the capacity: never', {});
  if (verdict.remaining > 0 && !twin.look(now, verdict.remaining, policy).allowed) fail('remaining can be spent', {});
  if (twin.look(now, verdict.remaining + 1, policy).allowed) fail('remaining is all that can be spent', {});
}

function promiseIsExact(twin: Twin, policy: Policy, { now, cost }: Moment, verdict: Verdict, fail: Fail): void {
  if (verdict.allowed || verdict.retryAfter === Number.POSITIVE_INFINITY) return;
  const at = now + verdict.retryAfter;
  if (verdict.retryAfter < 1) fail('4: a denial is not over at once', {});
  if (twin.look(at - 1, cost, policy).allowed) fail('4: still denied just before', {});
  if (!twin.look(at, cost, policy).allowed) fail('4: allowed at the promised time', {});
}

function forgettingIsInvisible(twin: Twin, policy: Policy, { now }: Moment, verdict: Verdict, fail: Fail): void {
  const at = now + verdict.resetAfter;
  for (const later of [at, at + 1, at + verdict.resetAfter * 3]) {
    for (const cost of [0, 1, ruleOf(policy).limit]) {
      const old = twin.look(later, cost, policy);
      const none = typescriptTwin().look(later, cost, policy);
      if (answer(old) !== answer(none)) fail('3: forgetting is invisible', { later, cost, old, none });
    }
  }
  if (verdict.resetAfter > 0 && twin.look(at - 1, 0, policy).resetAfter !== 1) fail('3: and not before', {});
}

function answer({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): string {
  return [allowed, remaining, retryAfter, resetAfter, delay].join(' ');
}

function backwardsIsHarmless(twin: Twin, policy: Policy, { now }: Moment, fail: Fail): void {
  const here = twin.look(now, 0, policy);
  for (const step of [1, 1_000, 1_000_000, here.resetAfter, here.resetAfter * 3 + 5]) {
    const back = twin.look(Math.max(0, now - step), 0, policy);
    if (back.remaining > here.remaining) fail('5: backwards time mints nothing', { step, here, back });
  }
}

/** Law 6, on what was admitted in forward time. */
function boundHolds(policy: Policy, seen: readonly Seen[]): void {
  const admitted = seen.filter(({ verdict }) => verdict.allowed);
  for (let from = 0; from < admitted.length; from += 1) {
    let sum = 0;
    for (let to = from; to < admitted.length; to += 1) {
      sum += admitted[to]!.cost;
      const bound = ruleOf(policy).bound(admitted[from]!.now, admitted[to]!.now);
      if (sum > bound) throw new Error(`6: the bound holds\n${JSON.stringify({ policy, from, to, sum, bound, seen })}`);
    }
  }
}
