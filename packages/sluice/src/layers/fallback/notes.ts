/**
 * What the store last said of a key, noted down until it is needed: when the store goes away, a memory store takes it over, as it was then, before it
 * answers for that key. Most notes are overwritten by the next answer and never read, so noting is all that an answer costs.
 */
import { type Clock, readMicros } from '../../model/clock.ts';
import type { Decision } from '../../model/decision.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { decidedAt, exactMicros } from '../../model/result.ts';
import type { Rule } from '../../model/rule.ts';
import { Step } from '../../model/step.ts';
import type { Answer, Question, Store } from '../../model/store.ts';
import { checksIn, type PartOf } from './share.ts';

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
