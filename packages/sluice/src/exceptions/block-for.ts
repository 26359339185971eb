/**
 * A policy that blocks who exceeds it, for login throttling and against brute force: an attempt that it denies is an offence, and the key is blocked
 * for a while, longer each time. Two states then decide together, in one question: the policy's own, and a penalty box.
 */
import type { Decision } from '../model/decision.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { extended, hasRule, type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';
import type { Answer, Attempt, Check, Question, Store } from '../model/store.ts';
import { attemptOf, checksOf } from '../model/store.ts';
import { penaltyBox } from './penalty-box.ts';

/** How long a key is blocked. */
export interface BlockForOptions {
  /** The first block. */
  readonly first: Duration;
  /** The longest: each block is twice as long as the one before, up to this. Default: `first`, so that all are equally long. */
  readonly most?: Duration | undefined;
  /** When offences are forgotten, counted from the end of the last block. Default: `most`. */
  readonly forget?: Duration | undefined;
}

/**
 * The policy, but whoever exceeds it is blocked: `'10m'`, or `{ first: '1m', most: '1d' }` for blocks that double. `reset` and `unblock` end the
 * block and forget the offences.
 *
 * @example
 * const login = blockFor(slidingWindowCounter({ name: 'login', limit: 5, window: '15m' }), { first: '15m', most: '1d' });
 */
export function blockFor<P extends Policy>(policy: P, how: Duration | BlockForOptions): P {
  if (!hasRule(policy))
    throw invalidOption('blockFor(policy)', 'a policy, as tokenBucket({ ... }) makes it', Kind.of(policy));
  if (ruleOf(policy).answers !== undefined) {
    throw invalidOption(
      'blockFor(policy)',
      'a policy that counts, and that blocks nobody yet',
      new Kind(policy.algorithm),
    );
  }
  const times = timesOf(how);
  const rule = ruleOf(policy);
  const box = penaltyBox(`${policy.name.slice(0, 40)} block ${checksum(rule.identity)}`, times);
  return extended(
    policy,
    { blockFor: times },
    { answers: (ask, question) => answer(ask, question, rule.identity, box) },
  );
}

function timesOf(how: Duration | BlockForOptions): { first: number; most: number; forget: number } {
  const options: BlockForOptions = typeof how === 'object' ? how : { first: how };
  checkOptionNames(options, ['first', 'most', 'forget'], 'blockFor');
  const first = parseDuration(options.first, typeof how === 'object' ? 'blockFor.first' : 'blockFor');
  const most = options.most === undefined ? first : parseDuration(options.most, 'blockFor.most');
  if (most < first) throw invalidOption('blockFor.most', 'at least as long as first', options.most);
  return {
    first,
    most,
    forget: options.forget === undefined ? most : parseDuration(options.forget, 'blockFor.forget'),
  };
}

/** Tells the boxes of policies without a name apart. */
function checksum(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(36);
}

function answer(ask: Store['ask'], question: Question, state: string, box: Policy): MaybePromise<Answer> {
  const isOurs = (policy: Policy): boolean => ruleOf(policy).identity === state && ruleOf(policy).answers !== undefined;
  const bare = (policy: Policy): Policy => (isOurs(policy) ? bareOf(policy) : policy);
  switch (question.verb) {
    case 'attempt':
      return attempt(ask, question, { isOurs, bare, box });
    case 'change': {
      const changes = question.changes.map((change) => ({ ...change, policy: bare(change.policy) }));
      const freed = question.changes.filter(({ verb, policy }) => verb === 'unblock' && isOurs(policy));
      return proceed(
        forgetAll(
          ask,
          freed.map(({ key }) => key),
          box,
        ),
        () => ask({ ...question, changes }),
      );
    }
    case 'forget': {
      const policies = question.policies.map(bare);
      return proceed(ask({ ...question, policies: [...policies, box] }), ({ decisions, source }) =>
        resultOf(decisions.slice(0, policies.length), source),
      );
    }
    case 'history':
      return ask({ ...question, policy: bare(question.policy) });
  }
}

/** The policy without its box, made once. */
const bares = new WeakMap<Policy, Policy>();

function bareOf(policy: Policy): Policy {
  const bare = bares.get(policy) ?? extended(policy, {}, { answers: undefined });
  bares.set(policy, bare);
  return bare;
}

function forgetAll(ask: Store['ask'], [key, ...others]: readonly string[], box: Policy): MaybePromise<unknown> {
  if (key === undefined) return undefined;
  return proceed(ask({ verb: 'forget', key, policies: [box] }), () => forgetAll(ask, others, box));
}

interface Box {
  isOurs(policy: Policy): boolean;
  bare(policy: Policy): Policy;
  readonly box: Policy;
}

/** Sources whose "no" is no new offence: what is repeated, unseen, or somebody's exception. */
const NO_OFFENCE: readonly string[] = ['deny-cache', 'fail-closed', 'shadow', 'exception'];

function attempt(ask: Store['ask'], question: Attempt, { isOurs, bare, box }: Box): MaybePromise<Answer> {
  const checks = checksOf(question);
  const ours = checks.filter(({ policy }) => isOurs(policy));
  const boxes = ours.map(({ key }): Check => ({ key, policy: box, cost: 1 }));
  const asked = [...checks.map((check) => ({ ...check, policy: bare(check.policy) })), ...boxes];
  return proceed(ask(attemptOf(asked, question.dryRun)), ({ decisions, source }) => {
    const own = decisions.slice(0, checks.length);
    const blocks = new Map(ours.map((check, index) => [check, decisions[checks.length + index]!]));
    const offenders = ours.filter((check) => isOffence(own[checks.indexOf(check)]!, blocks.get(check)!, check.cost));
    const told = (): Answer =>
      resultOf(
        own.map((decision, index) => blocked(decision, blocks.get(checks[index]!))),
        source,
      );
    if (question.dryRun || offenders.length === 0 || NO_OFFENCE.includes(source)) return told();
    const changes = offenders.map(({ key }) => ({ verb: 'penalize' as const, key, policy: box, cost: 1 }));
    const note = ({ decisions: seen }: Answer): Answer => {
      for (const [index, check] of offenders.entries()) blocks.set(check, seen[index]!);
      return told();
    };
    // A block that could not be written must not make an error of a denial.
    return proceed<Answer, Answer>(ask({ verb: 'change', changes }), note, told);
  });
}

/** A cost that never fits exceeds nothing, and who is blocked already was punished already. */
function isOffence(decision: Decision, block: Decision, cost: number): boolean {
  return !decision.allowed && block.allowed && cost > 0 && Number.isFinite(decision.retryAfter);
}

function blocked(decision: Decision, block: Decision | undefined): Decision {
  if (block === undefined || block.allowed) return decision;
  const [resetAfter, resetAt] =
    block.retryAfter! > decision.resetAfter
      ? [block.retryAfter!, block.resetAt - block.resetAfter + block.retryAfter!]
      : [decision.resetAfter, decision.resetAt];
  const retryAfter = Math.max(block.retryAfter!, decision.retryAfter ?? 0);
  return { ...decision, allowed: false, remaining: 0, retryAfter, resetAfter, resetAt, delay: null };
}
