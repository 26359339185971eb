/**
 * Answers when the store does not, so that no request fails because its limit could not be asked. Who answered is in the
 * result's `source`, an outage is a warning and goes to a hook, and it ends with the next answer of the store. Mistakes of a
 * caller still reject. A store that hangs does not fail: that needs a deadline inside.
 *
 * A fallback in memory goes on from what the store last said of each key, so that a key goes on from where it was and not from a full limit it
 * had already spent. That is noted down until it is needed; most notes are overwritten by the next answer and never read, so noting is all that an
 * answer costs.
 *
 * What a fallback cannot pretend: `forget` and `history` reject while the store is away, because there is nothing to answer that would
 * be true. And what the store has lent is given back only there: a refund is never carried out on the fallback, because the store may
 * have done it, or may still do it.
 */
import { type Clock, checkClock, readMicros, systemClock } from '../../model/clock.ts';
import type { Decision } from '../../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../../model/duration.ts';
import { asking, inBackground, type MaybePromise, proceed } from '../../model/maybe-promise.ts';
import { checkFlag, checkOptionNames, invalidOption } from '../../model/options.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { decidedAt, exactMicros } from '../../model/result.ts';
import type { Rule } from '../../model/rule.ts';
import { emitWarning } from '../../model/runtime.ts';
import { Step } from '../../model/step.ts';
import {
  type Answer,
  type Change,
  checkStore,
  type Forget,
  isStoreFault,
  type Question,
  type Store,
} from '../../model/store.ts';
import { DEFAULT_RETRY_AFTER } from '../circuit-breaker.ts';
import { checkHook } from '../hooks.ts';
import { type Layer, layerOf } from '../layered.ts';
import { answering, FAILS_CLOSED } from './fixed-answers.ts';
import { type OutageHooks, Outages } from './outages.ts';
import { checkShare, checksIn, type PartOf, partOf, sharing } from './share.ts';

export type { FallbackEvent, RecoveredEvent } from './outages.ts';

/** What `fallback` takes. */
export interface FallbackOptions extends OutageHooks {
  /** Allow everything, deny everything, or let another store decide, such as `memoryStore()`. */
  readonly to: 'allow' | 'deny' | Store;
  /**
   * With a store: the part of each limit and rate that it may allow, above 0 and at most 1. Default: 1, the full limit for this
   * process; with n processes, 1 / n keeps the sum at the limit.
   */
  readonly share?: number | undefined;
  /** When to come back, for those who are denied only because the store is away. Default: 1 s. */
  readonly retryAfter?: Duration | undefined;
  /** Whether an outage is a warning of the runtime (`process.emitWarning`), once when it begins and once when it ends. Default: true. */
  readonly warnings?: boolean | undefined;
  /** Asked when the store has answered: whether the outage is over. Default: yes. For stores of which only a part may be away. */
  readonly isBack?: (() => boolean) | undefined;
  /** For tests and simulations. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** Answers in the place of a store that fails. */
export function fallback(options: FallbackOptions): Layer {
  const settings = checkOptions(options);
  return layerOf('fallback', (inner) => new Fallback(inner, settings).ask);
}

interface Settings {
  readonly instead: Store['ask'];
  /** What the store has said, where the fallback can go on from it. */
  notes(): Notes | undefined;
  readonly isBack: (() => boolean) | undefined;
  outages(): Outages;
}

class Fallback {
  readonly #inner: Store;
  readonly #instead: Store['ask'];
  readonly #notes: Notes | undefined;
  readonly #outages: Outages;
  readonly #isBack: Settings['isBack'];
  /** Until the store has answered, and from a failure to the end of the outage. */
  #isAway = true;

  constructor(inner: Store, { instead, notes, isBack, outages }: Settings) {
    this.#inner = inner;
    this.#instead = instead;
    this.#notes = notes();
    this.#outages = outages();
    this.#isBack = isBack;
  }

  readonly ask = (question: Question): MaybePromise<Answer> =>
    isAboutFallback(question)
      ? proceed(this.#instead(question), asFallback)
      : asking(
          this.#inner,
          question,
          (answer) => this.#answered(question, answer),
          (error) => this.#rescue(question, error),
        );

  #answered(question: Question, answer: Answer): Answer {
    if (this.#isAway && (this.#isBack === undefined || this.#isBack())) {
      this.#isAway = false;
      this.#outages.end();
    }
    if (question.verb === 'forget') this.#forget(question);
    else this.#notes?.note(question, answer);
    return answer;
  }

  #rescue(question: Question, error: unknown): MaybePromise<Answer> {
    if (!isStoreFault(error)) throw error;
    this.#isAway = true;
    this.#outages.count(error);
    if (question.verb === 'forget') this.#forget(question);
    if (question.verb === 'forget' || question.verb === 'history') throw error;
    this.#notes?.needed(question);
    return proceed(this.#instead(question.verb === 'change' ? withoutRefunds(question.changes) : question), asFallback);
  }

  #forget(question: Forget): void {
    this.#notes?.handOver(question.key);
    inBackground(() => this.#instead(question));
  }
}

/** What was spent here is given back here: permits that this fallback has given, whether the store is back or not. */
function isAboutFallback(question: Question): boolean {
  if (question.verb !== 'change' || question.changes.length === 0) return false;
  return question.changes.every((change) => 'by' in change && change.by === 'fallback');
}

/** A refund of nothing looks, and changes nothing. */
function withoutRefunds(changes: readonly Change[]): Question {
  return { verb: 'change', changes: changes.map(withoutRefund) };
}

function withoutRefund(change: Change): Change {
  const { key, policy, verb } = change;
  return verb === 'refund' || verb === 'extend' ? { verb: 'refund', key, policy, cost: 0 } : change;
}

function asFallback(answer: Answer): Answer {
  return { ...answer, source: answer.source === FAILS_CLOSED ? answer.source : 'fallback' };
}

function checkOptions(options: FallbackOptions): Settings {
  const names = ['to', 'share', 'retryAfter', 'onFallback', 'onRecovered', 'warnings', 'isBack', 'clock'];
  checkOptionNames(options, names, 'fallback');
  const { to, share, retryAfter = DEFAULT_RETRY_AFTER, warnings, isBack, clock = systemClock } = options;
  checkHook(options.onFallback, 'fallback.onFallback');
  checkHook(options.onRecovered, 'fallback.onRecovered');
  checkHook(isBack, 'fallback.isBack');
  checkFlag(warnings, 'fallback.warnings');
  checkClock(clock, 'fallback.clock');
  const retryMs = parseDuration(retryAfter, 'fallback.retryAfter');
  const warn = warnings === false ? undefined : emitWarning;
  if (to === 'allow' || to === 'deny') {
    if (share !== undefined) throw shareOfNothing(share);
    const words = to === 'allow' ? 'a fallback that allows everything' : 'a fallback that denies everything';
    const instead = answering(to, clock, toMicros(retryMs)).ask;
    return { instead, notes: () => undefined, isBack, outages: () => new Outages(clock, options, warn, words) };
  }
  const part = checkShare(share ?? 1, 'fallback.share');
  const target = checkTarget(to);
  const policyPart = partOf(part);
  const words =
    target.place?.isShared === false
      ? 'the memory of this process, which no other process shares,'
      : 'the fallback store';
  return {
    instead: part === 1 ? (question) => target.ask(question) : sharing(target, policyPart, retryMs / 1e3),
    notes: () => (isRestorable(target) ? new Notes(target, policyPart, part) : undefined),
    isBack,
    outages: () => new Outages(clock, options, warn, words),
  };
}

function checkTarget(to: unknown): Store {
  if (typeof to === 'object') return checkStore(to, 'fallback.to');
  throw invalidOption('fallback.to', "'allow', 'deny' or a store, such as memoryStore()", to);
}

function shareOfNothing(share: unknown): Error {
  return invalidOption('fallback.share', 'no share: only a store can allow a part of a limit', share);
}

/** A store that can take over what another has said of a key: the memory store. */
export interface Restorable extends Store {
  restore(key: string, policy: Policy, remaining: number, resetAfter: number, blockedFor: number, at: number): void;
  readonly clock: Clock;
}

export function isRestorable(store: Store): store is Restorable {
  return 'restore' in store && 'clock' in store;
}

interface Note {
  policy: Policy;
  cost: number;
  said: Said;
  /** Microseconds on the memory store's clock. */
  at: number;
  /** What was said of the same key under another policy. */
  readonly next: Note | undefined;
}

/** What is needed of a decision; the answer to an attempt under one policy is one too. */
type Said = Pick<Decision, 'allowed' | 'remaining' | 'retryAfter' | 'resetAfter' | 'resetAt'>;

/** With more keys than this the oldest note is handed over to the memory store, which keeps it in less room. */
const MOST_KEYS = 16_384;
/** So many policies on one key: their names may be made up by callers. */
const MOST_POLICIES = 64;
/** The memory store keeps a hash in the place of a key, so a key that is longer goes there immediately. */
const LONGEST_KEY = 256;

export class Notes {
  readonly #to: Restorable;
  readonly #part: PartOf;
  readonly #share: number;
  readonly #byKey = new Map<string, Note>();

  constructor(to: Restorable, part: PartOf, share: number) {
    this.#to = to;
    this.#part = part;
    this.#share = share;
  }

  /** The store has answered. */
  note(question: Question, answer: Answer): void {
    if (answer.source !== 'store') return;
    const now = readMicros(this.#to.clock);
    if (question.verb === 'attempt' && question.and.length === 0) {
      this.#noteOne(question.key, question.policy, question.cost, answer, now);
      return;
    }
    for (const [index, { key, policy, cost }] of checksIn(question).entries()) {
      this.#noteOne(key, policy, cost, answer.decisions[index]!, now);
    }
  }

  #noteOne(key: string, policy: Policy, cost: number, said: Said, at: number): void {
    let policies = 0;
    for (let note = this.#byKey.get(key); note !== undefined; note = note.next) {
      policies += 1;
      if (note.policy !== policy && ruleOf(note.policy).identity !== ruleOf(policy).identity) continue;
      note.policy = policy;
      note.cost = cost;
      note.said = said;
      note.at = at;
      return;
    }
    if (policies >= MOST_POLICIES) this.handOver(key);
    this.#byKey.set(key, { policy, cost, said, at, next: this.#byKey.get(key) });
    if (key.length > LONGEST_KEY) this.handOver(key);
    else if (this.#byKey.size > MOST_KEYS) this.handOver(this.#byKey.keys().next().value!);
  }

  /** The memory store is about to answer for these. */
  needed(question: Question): void {
    for (const { key } of checksIn(question)) this.handOver(key);
  }

  /** Everything that is known of a key. */
  handOver(key: string): void {
    const first = this.#byKey.get(key);
    if (first === undefined) return;
    this.#byKey.delete(key);
    for (let note: Note | undefined = first; note !== undefined; note = note.next) this.#restore(key, note);
  }

  #restore(key: string, { policy, cost, said, at }: Note): void {
    const remaining = Math.floor(said.remaining * this.#share);
    const blockedFor = blockOf(said, ruleOf(policy), cost);
    this.#to.restore(key, this.#part(policy), remaining, exactMicros(said.resetAfter), blockedFor, at);
  }
}

const FULL = new Step();

/** How long the key is blocked, in microseconds: it is when this cost has to wait for longer than with everything spent just now. */
function blockOf(said: Said, rule: Rule, cost: number): number {
  if (said.allowed || said.remaining > 0 || said.retryAfter === Number.POSITIVE_INFINITY) return 0;
  const now = decidedAt(said);
  rule.penalize(undefined, now, rule.limit, FULL);
  rule.transition(rule.width > 0 ? FULL.next.slice() : rule.write!(undefined, FULL), now, cost, FULL);
  const wait = exactMicros(said.retryAfter!);
  return wait > FULL.retryAfter ? wait : 0;
}
