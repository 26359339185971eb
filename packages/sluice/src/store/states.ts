/**
 * How a question is answered by rules, over any place where the states of keys can be read and written at one moment: the memory store, and
 * every store made by `storeOver`. Nothing here waits, so whatever calls it is atomic as long as the states are its own meanwhile.
 */
import type { Decision } from '../model/decision.ts';
import { historyOf } from '../model/history.ts';
import { ruleOf } from '../model/policy.ts';
import { decisionOf, resultOf } from '../model/result.ts';
import type { Rule } from '../model/rule.ts';
import { type Numbers, type Spent, Step } from '../model/step.ts';
import {
  type Answer,
  type Attempt,
  type Change,
  checksOf,
  type History,
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
}

/** Answers a question by rules, over states that can be read and written at one moment. `now` is in microseconds. Never waits. */
export function answer(states: States, question: Question, now: number): Answer {
  switch (question.verb) {
    case 'attempt':
      return decide(states, question, now);
    case 'change':
      return resultOf(
        question.changes.map((each) => {
          const rule = ruleOf(each.policy);
          const changed = carryOut(states, rule, each, now);
          return { ...seen(states, each.key, rule, now), changed };
        }),
        'store',
      );
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

/** All or nothing. */
function decide(states: States, attempt: Attempt, now: number): Answer {
  const all = checksOf(attempt).map(({ key, policy, cost }) => {
    const rule = ruleOf(policy);
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
  return resultOf(decisions, 'store');
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
