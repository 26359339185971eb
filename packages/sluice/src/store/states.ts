/**
 * How a question is answered by rules, over any place where the states of keys can be read and written at one moment: the memory store, and
 * every store made by `storeOver`. Nothing here waits, so whatever calls it is atomic as long as the states are its own meanwhile.
 */
import type { Decision } from '../model/decision.ts';
import { historyOf } from '../model/history.ts';
import { ruleOf } from '../model/policy.ts';
import { decisionOf, exactMicros, resultOf } from '../model/result.ts';
import type { Rule } from '../model/rule.ts';
import { type Numbers, type Spent, Step } from '../model/step.ts';
import {
  type Answer,
  type Attempt,
  type Change,
  type Changes,
  checksOf,
  type History,
  markedBy,
  noHistory,
  type Question,
} from '../model/store.ts';

/** The states of keys, at one moment. Times are microseconds. */
export interface States {
  /** The state of a key under a rule; undefined when there is none, or it means nothing any more. */
  read(key: string, rule: Rule, now: number): Numbers | undefined;
  /** Stores what a step says of a key. A step that finds no room may be made a denial. */
  write(key: string, rule: Rule, now: number, step: Step): void;
  remove(key: string, rule: Rule, now: number): void;
  /** Until when the key is blocked; anything up to now when it is not. */
  blockedUntil(key: string, rule: Rule, now: number): number;
  /** Blocks the key until then; ends its block when that is over. */
  block(key: string, rule: Rule, until: number, now: number): void;
  /** What is noted under an id beside the states of a key; undefined when nothing is, or its time is over. */
  marked(key: string, id: string, now: number): Numbers | undefined;
  /** Notes these numbers until then, or removes them when there are none. Says whether there was room. */
  mark(key: string, id: string, numbers: number[] | undefined, until: number, now: number): boolean;
}

/** Answers a question by rules, over states that can be read and written at one moment. `now` is in microseconds. Never waits. */
export function answer(states: States, question: Question, now: number): Answer {
  switch (question.verb) {
    case 'attempt':
      return question.mark === undefined ? decide(states, question, now) : decideOnce(states, question, now);
    case 'change':
      return changeAll(states, question, now);
    case 'forget':
      return resultOf(
        question.policies.map((policy) => {
          const rule = ruleOf(policy);
          states.remove(question.key, rule, now);
          states.block(question.key, rule, now, now);
          return seen(states, question.key, rule, now);
        }),
        'store',
      );
    case 'history':
      return history(states, question, now);
  }
}

/** Of a settlement only if its mark is there. */
function changeAll(states: States, { changes, settles }: Changes, now: number): Answer {
  const { key } = changes[0]!;
  const isOff = settles !== undefined && !isSame(states.marked(key, settles.id, now), settles.marked);
  if (settles !== undefined && !isOff) states.mark(key, settles.id, undefined, now, now);
  const decisions = changes.map((each) => {
    const rule = ruleOf(each.policy);
    const changed = isOff ? 0 : carryOut(states, rule, each, now);
    return { ...seen(states, each.key, rule, now), changed };
  });
  const result = resultOf(decisions, 'store');
  return settles === undefined ? result : { ...result, mark: isOff ? 'missing' : 'found' };
}

function isSame(one: Numbers | undefined, other: Numbers): boolean {
  return one !== undefined && Array.from(one).join() === Array.from(other).join();
}

/** An attempt that was allowed before is allowed, and spends nothing. One that finds no room to be remembered is not, and spends all the same. */
function decideOnce(states: States, attempt: Attempt, now: number): Answer {
  const { key, mark, dryRun } = attempt;
  const checks = checksOf(attempt);
  if (states.marked(key, mark!.id, now) !== undefined) {
    const decisions = checks.map((check): Decision => {
      return { ...seen(states, check.key, ruleOf(check.policy), now), allowed: true, retryAfter: null };
    });
    return { ...resultOf(decisions, 'store'), mark: 'found' };
  }
  const answer = decide(states, attempt, now);
  if (!answer.allowed || dryRun) return answer;
  const marked = markedBy(
    mark!,
    now,
    answer.decisions.map(({ resetAfter }, index) => {
      return { resetAfter: exactMicros(resetAfter), cost: answer.granted ?? checks[index]!.cost };
    }),
  );
  return states.mark(key, mark!.id, marked, now + mark!.ttl, now) ? { ...answer, mark: 'made' } : answer;
}

/** How much is there for all of them, within what is asked for. */
function grant(states: States, attempt: Attempt, least: number, now: number): number {
  const left = checksOf(attempt).map(({ key, policy }) => seen(states, key, ruleOf(policy), now).remaining);
  return Math.max(least, Math.min(attempt.cost, ...left));
}

/** All or nothing. */
function decide(states: States, attempt: Attempt, now: number): Answer {
  const { least } = attempt;
  const granted = least === undefined ? undefined : grant(states, attempt, least, now);
  const all = checksOf(attempt).map((check) => {
    const { key, cost = check.cost } = { key: check.key, cost: granted };
    const rule = ruleOf(check.policy);
    return { key, rule, cost, step: look(states, key, rule, cost, now, new Step()) };
  });
  const isAllowed = (): boolean => all.every(({ step }) => step.allowed);
  const fits = isAllowed();
  for (const { key, rule, step } of attempt.dryRun ? [] : all) {
    // What a clock step had made unreadable is stored also when it is denied.
    if (step.writes && step.allowed === fits) states.write(key, rule, now, step);
  }
  const isSpent = isAllowed() && !attempt.dryRun;
  const decisions = all.map(({ key, rule, cost, step }): Decision => {
    if (step.allowed && !isSpent) {
      // One of them found no room: what the others have spent is given back at the same moment.
      const spent = { at: now, until: now + step.resetAfter, cost };
      if (fits && step.writes && !attempt.dryRun) change(states, key, rule, 'refund', cost, spent, now);
      // Nothing is spent after all: what is told is what a look would see, though still that it would have been allowed.
      const { delay } = step;
      look(states, key, rule, 0, now, step);
      step.delay = isAllowed() ? delay : 0;
    }
    return decisionOf(rule, now, step);
  });
  const result = resultOf(decisions, 'store');
  return granted === undefined ? result : { ...result, granted: result.allowed ? granted : 0 };
}

/** What an attempt of this cost would do. */
function look(states: States, key: string, rule: Rule, cost: number, now: number, step: Step): Step {
  rule.transition(states.read(key, rule, now), now, cost, step);
  refuseIfBlocked(states, key, rule, now, step);
  return step;
}

function seen(states: States, key: string, rule: Rule, now: number): Decision {
  return decisionOf(rule, now, look(states, key, rule, 0, now, LOOK));
}

/** Nothing here waits, so they are used by one at a time; making them costs more than deciding. */
const LOOK = /* @__PURE__ */ new Step();
const CHANGE = /* @__PURE__ */ new Step();

/** A blocked key: the block's wait, and beside it what a look sees, because nothing is spent. */
export function refuseIfBlocked(states: States, key: string, rule: Rule, now: number, step: Step): void {
  const wait = states.blockedUntil(key, rule, now) - now;
  if (wait <= 0) return;
  const { retryAfter } = step;
  rule.transition(states.read(key, rule, now), now, 0, step);
  step.deny(0, Math.max(retryAfter, wait), Math.max(step.resetAfter, wait));
}

/** Says by how many units the state changed. */
function carryOut(states: States, rule: Rule, each: Change, now: number): number {
  const { key, verb } = each;
  if (verb === 'refund') return change(states, key, rule, verb, each.cost, each.spent, now).units;
  if (verb === 'extend') return change(states, key, rule, verb, 0, each.spent, now).units;
  if (verb === 'penalize')
    return change(states, key, rule, verb, each.cost, undefined, now, now - (each.ago ?? 0)).units;
  states.block(key, rule, verb === 'block' ? now + each.duration : now, now);
  return 0;
}

/** The same of units, in the step that changed them, which also says what a look sees afterwards. `at` is when they count as spent. */
export function change(
  states: States,
  key: string,
  rule: Rule,
  verb: 'refund' | 'extend' | 'penalize',
  cost: number,
  spent: Spent | undefined,
  now: number,
  at = now,
): Step {
  const step = CHANGE;
  const state = states.read(key, rule, now);
  if (verb === 'refund') rule.refund(state, at, cost, spent, step);
  else if (verb === 'penalize') rule.penalize(state, at, cost, step);
  else if (rule.permits === undefined) step.leaves();
  else rule.permits.extend(state, at, spent!, step);
  if (step.writes) {
    const next = rule.width > 0 ? step.next : rule.write!((state as number[] | undefined)?.slice(), step);
    rule.transition(next, now, 0, LOOK);
    step.allowed = true;
    step.resetAfter = LOOK.resetAfter;
    step.remaining = LOOK.remaining;
    // Stored for as long as a look at it says, or removed when that is no time at all.
    if (LOOK.resetAfter > 0) states.write(key, rule, now, step);
    else states.remove(key, rule, now);
    if (step.allowed) return step;
  }
  step.units = 0;
  return step;
}

function history(states: States, { key, policy, after, most }: History, now: number): Answer {
  const rule = ruleOf(policy);
  if (rule.entries === undefined) throw noHistory(policy);
  const state = states.read(key, rule, now);
  const listed = state === undefined ? [] : rule.entries(state, now, after, most);
  return { ...resultOf([seen(states, key, rule, now)], 'store'), history: historyOf(listed) };
}
