/**
 * What the lab has to know of an algorithm: how it is called and set, what a policy of it means, how a state is told from answers, why it denied,
 * and what it looks like. Everything that knows an algorithm by its name is in this folder; whatever else the lab does, it does by these.
 */
import type { Policy } from 'sluice';
import type { FieldKind } from './field-text.ts';
import type { Meant, SharedLimit } from './limit.ts';
import type { Picture } from './pictures/scene.ts';
import type { Reading } from './state.ts';

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly label: string;
  readonly hint: string;
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
}

/** The texts in a form, by field. */
export type Draft = Readonly<Record<string, string>>;

/** A policy as plain numbers, whatever the algorithm is. */
export type Numbers = Readonly<Record<string, unknown>>;

/** Why a request was denied, in numbers. */
export interface Denied {
  readonly numbers: Numbers;
  readonly current: number;
  readonly previous: number;
  /** Of the previous window of the clock: how much of it still counts, from 0 to 1. */
  readonly share: number;
}

export interface Kind {
  readonly id: string;
  readonly algorithm: string;
  readonly title: string;
  /** For a narrow screen. */
  readonly short: string;
  /** What it is good at and what that costs, in one line. */
  readonly tradeOff: string;
  /** How it works, step by step. */
  readonly steps: readonly string[];
  readonly knownFrom: string;
  /** What it does with a burst, and what it is best for. */
  readonly burst: string;
  readonly bestFor: string;
  /** The function of the library that makes its policies. */
  readonly factory: string;
  /** Whether requests wait instead of being denied: then all callers share one key, as it protects the backend. */
  readonly shapes: boolean;
  /** Whether it has a burst of its own, beside its limit. */
  readonly hasBurst: boolean;
  /** What sets two rows of one algorithm apart. */
  readonly fixed: Readonly<Record<string, string>>;
  /** Fields that need not be written when they have this value. */
  readonly defaults: Readonly<Record<string, string>>;
  readonly fields: readonly Field[];
  readonly picture: Picture;
  /** The form that means this limit. */
  draftOf(limit: SharedLimit): Draft;
  /** The numbers in a few words: "10 per 10 s". */
  summary(numbers: Numbers): string;
  /** The most that fits at one moment. */
  capacity(numbers: Numbers): number;
  /** What it means as so many units in a window; `window` where it has none of its own. */
  meant(numbers: Numbers, window: number): Meant;
  /** The size of the windows of the clock it counts in; Infinity when it does not. */
  clockWindow(numbers: Numbers): number;
  /** Units in use: counted, carried over, missing from the bucket, queued. */
  used(reading: Reading): number;
  why(denied: Denied): string;
}

export function numbersOf(policy: Policy): Numbers {
  return policy as unknown as Numbers;
}

/** A number of a policy that its algorithm is known to have. */
export function numberIn(numbers: Numbers, name: string): number {
  return numbers[name] as number;
}
