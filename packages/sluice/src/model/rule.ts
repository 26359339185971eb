/**
 * A rate limit is a pure state transition. An algorithm declares the fields of its policies and compiles a policy into a rule; a rule reads
 * no clock and touches no store: it is given a state, a time and a cost, and says what the state becomes. Times are whole microseconds.
 * Every algorithm has a twin in Lua that gives the same answers to the last bit.
 */
import type { HistoryEntry } from './decision.ts';
import type { Fields } from './field.ts';
import type { HistoryRequest } from './history.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Permits } from './permit.ts';
import type { Policy } from './policy.ts';
import type { Numbers, Spent, Step } from './step.ts';
import type { Answer, Question, Store } from './store.ts';

/** What an algorithm is: the one thing a folder in algorithms/ exports besides its policy function. */
export interface Algorithm<P extends Policy = Policy> {
  /** In policies, YAML and results: `token-bucket`. */
  readonly name: P['algorithm'];
  /** One sentence for people. */
  readonly about: string;
  /** The fields of its policies, in the order people read them. The name is not one of them: every policy has one. */
  readonly fields: Fields;
  /** Compiles a policy: what depends only on its numbers is computed here, once. */
  rule(policy: P, kept: StateKept): RuleParts;
}

/** How the states of a policy are kept. */
export interface StateKept {
  /** The policy has a name: its numbers may change while the state lives on, so a state that depends on them has to say which they were. */
  readonly byName: boolean;
}

/** What an algorithm makes of a policy. */
export interface RuleParts {
  /** The most that can be spent at one instant. */
  readonly limit: number;
  /** Microseconds in which everything that was spent comes back. */
  readonly recovery: number;
  /** How many numbers a state has, at most 4. 0: as many as it takes, and `write` carries a step out. */
  readonly width: number;
  /** Decides an attempt. Cost 0 looks. */
  transition(state: Numbers | undefined, now: number, cost: number, step: Step): void;
  /** Spends even if it does not fit, down to empty. Fills in `units` and the next state. */
  penalize(state: Numbers | undefined, now: number, cost: number, step: Step): void;
  /** Gives back, and never more than would be there had the spend not happened. Without `spent` it was just now. */
  refund(state: Numbers | undefined, now: number, cost: number, spent: Spent | undefined, step: Step): void;
  /** Where spends last until they are given back: how they are held, given back and waited for. */
  readonly permits?: Permits | undefined;
  /** Of a state without a fixed width: carries out what the step says, in place if that is cheaper. */
  write?(state: number[] | undefined, step: Step): number[];
  /** Single admissions, oldest first, after a time and at most so many: time, units, time, units, ... Only where they are remembered. */
  entries?(state: Numbers, now: number, after: number, most: number): number[];
  /** Asks a store for them. It comes with `entries`: `defineAlgorithm` adds it. */
  history?(store: Store, request: HistoryRequest): Promise<readonly HistoryEntry[]>;
  /** The most that may be admitted from one moment to another, both included. */
  bound(from: number, to: number): number;
  /**
   * Microseconds until one more unit is there, of what a result tells: units that are spent, and until everything has come back. Default: until
   * everything has.
   */
  nextUnit?(spent: number, resetAfter: number): number;
  /** The fields of a policy that allows this part of the limit, for a process that cannot ask the others. */
  share(part: number): Readonly<Record<string, unknown>>;
  /** How units may be held by a process for up to `ttl` microseconds without exceeding the bound; undefined when they may not. */
  lease?(ttl: number): LeaseTerms | undefined;
  /**
   * For a policy that is no state in a store, or more than one: answers every question it is part of, and asks the store for the rest by `ask`.
   * A limiter calls it instead of the store.
   */
  answers?(ask: Store['ask'], question: Question): MaybePromise<Answer>;
  /** Its twin in Lua. Without one the policy works on every store but Redis. */
  readonly redis?: RedisTwin | undefined;
}

/** What a process must keep to when it holds units that the store has counted already. */
export interface LeaseTerms {
  /** The fields of the policy that everybody asks the store under; none when it is the policy itself. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** By how many microseconds one unit moves the time at which the key has reset; 0 where no such time is known for a unit. */
  readonly interval: number;
  /** For how many microseconds after the store's `now` units that were granted then may be spent, the ttl aside. */
  usableFor(now: number, resetAfter: number): number;
}

/** How the states of a rule are kept in Redis. */
export interface RedisTwin {
  /** Names the layout in Redis keys: a letter, or the algorithm's name in parentheses. It never changes its meaning. */
  readonly code: string;
  /** The three arguments `x`, `y`, `z` of the Lua source. `x` and `y` are numbers there. */
  readonly args: readonly [string, string, string];
  /** For arguments that depend on the time: those of a call made now, in microseconds. `args` then only tells the policy from others. */
  argsAt?(now: number): readonly [string, string, string];
  /** The source, as the build prints it: it defines `transition`, `penalize` and `refund`. */
  readonly lua: string;
  /** What decides a lone attempt on a plain state ahead of all functions, if there is such a thing: see redis/lua/lone-read.lua. */
  readonly lone?: string | undefined;
  /** A line that reads `raw` for it. Default: the whole value. */
  readonly loneRead?: string | undefined;
  /** For spends that last until they are given back: an entry that gives many back, or lets them last for longer, in one call. */
  readonly release?: string | undefined;
  /** For states that remember single admissions: an entry that lists them. `defineAlgorithm` adds it where the rule has `entries`. */
  readonly history?: string | undefined;
  /** What gives one of them back on a plain state, ahead of all functions, if there is such a thing. */
  readonly releaseLone?: string | undefined;
}

/** A compiled policy. One class for all algorithms, so that reading it costs the same for each. */
export class Rule {
  readonly policy!: Policy;
  /** Which state the policy reads and writes for a key: two policies with the same identity share it. */
  readonly identity!: string;
  /** All numbers as text: the same for policies that decide alike. */
  readonly numbers!: string;
  readonly name!: string;
  readonly limit!: number;
  readonly recovery!: number;
  readonly width!: number;
  readonly transition!: RuleParts['transition'];
  readonly penalize!: RuleParts['penalize'];
  readonly refund!: RuleParts['refund'];
  readonly permits: Permits | undefined;
  readonly write: RuleParts['write'];
  readonly entries: RuleParts['entries'];
  readonly history: RuleParts['history'];
  readonly bound!: RuleParts['bound'];
  readonly nextUnit: RuleParts['nextUnit'];
  readonly share!: RuleParts['share'];
  readonly lease: RuleParts['lease'];
  readonly answers: RuleParts['answers'];
  readonly redis: RedisTwin | undefined;
  /** Whether headers and bodies for clients name it. */
  readonly visible!: boolean;
  /** The same policy with some fields changed, on the same state. */
  readonly changed!: (fields: Readonly<Record<string, unknown>>) => Policy;

  constructor(
    policy: Policy,
    identity: string,
    numbers: string,
    parts: RuleParts,
    changed: (fields: Readonly<Record<string, unknown>>) => Policy,
  ) {
    Object.assign(this, parts, {
      policy,
      identity,
      numbers,
      name: policy.name,
      visible: policy.visible !== false,
      changed,
    });
  }
}
