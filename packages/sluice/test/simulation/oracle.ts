/**
 * The judge: what each algorithm promises, checked on everything that was admitted by anyone, in true time. It knows no store, no
 * layer and no state of theirs, only who was let through when.
 */
import type {
  FixedWindowPolicy,
  GcraPolicy,
  LeakyBucketPolicy,
  Policy,
  SlidingWindowCounterPolicy,
  SlidingWindowLogPolicy,
  TokenBucketPolicy,
} from '../../src/index.ts';
import { toMicros } from '../../src/model/duration.ts';
import { ruleOf } from '../../src/model/policy.ts';

export interface Admission {
  /** Microseconds. For an answer of the store when it decided; for one without it when it was given. */
  readonly at: number;
  readonly cost: number;
  /** What the caller was told to wait before acting (shaping). */
  readonly delay: number;
  /** When the caller was told that its window ends. */
  readonly until: number;
}

type Judge<P extends Policy> = (policy: P, inOrder: readonly Admission[]) => string | undefined;

/** What an algorithm promises more exactly than its bound says, by its name. One that is not here is judged by its bound alone. */
const JUDGES = {
  'fixed-window': ofFixedWindow,
  'sliding-window-log': ({ limit, window }, inOrder) => ofLog(limit, toMicros(window), inOrder),
  'sliding-window-counter': ({ limit, window }, inOrder) => ofCounter(limit, toMicros(window), inOrder),
  'token-bucket': ({ capacity, refillRate }, inOrder) => ofBucket(capacity, refillRate / 1e6, inOrder),
  'leaky-bucket': (policy, inOrder) =>
    policy.mode === 'shaping' ? ofShaping(policy, inOrder) : ofBucket(policy.capacity, policy.leakRate / 1e6, inOrder),
  gcra: ({ capacity, limit, period }, inOrder) => ofBucket(capacity, limit / toMicros(period), inOrder),
} satisfies {
  'fixed-window': Judge<FixedWindowPolicy>;
  'sliding-window-log': Judge<SlidingWindowLogPolicy>;
  'sliding-window-counter': Judge<SlidingWindowCounterPolicy>;
  'token-bucket': Judge<TokenBucketPolicy>;
  'leaky-bucket': Judge<LeakyBucketPolicy>;
  gcra: Judge<GcraPolicy>;
};

/** What is wrong, or nothing. */
export function overAdmitted(policy: Policy, admissions: readonly Admission[]): string | undefined {
  const inOrder = [...admissions].sort((one, other) => one.at - other.at);
  const judge = (JUDGES as Readonly<Record<string, Judge<never>>>)[policy.algorithm];
  return judge?.(policy as never, inOrder) ?? ofBound(policy, inOrder);
}

/** In an interval of more admissions than this, shorter ones would have shown it. */
const LONGEST = 1000;

/** Law 6: in any interval at most what the rule says of it. */
function ofBound(policy: Policy, admissions: readonly Admission[]): string | undefined {
  const rule = ruleOf(policy);
  for (const [first, { at: from }] of admissions.entries()) {
    let sum = 0;
    for (let next = first; next < Math.min(first + LONGEST, admissions.length); next += 1) {
      const { at, cost } = admissions[next]!;
      sum += cost;
      if (sum > rule.bound(from, at)) return `${at}: ${sum} of ${rule.bound(from, at)} since ${from}`;
    }
  }
  return undefined;
}

/** In each window at most the limit. Windows that start with a key's first attempt are told apart by the end that callers were told. */
function ofFixedWindow({ limit, window, align }: FixedWindowPolicy, admissions: readonly Admission[]) {
  const size = toMicros(window);
  const counts = new Map<number, number>();
  for (const { at, cost, until } of admissions) {
    const end = align === 'epoch' ? at - (at % size) + size : until;
    if (at >= end || at < end - size) return `${at}: outside the window that ends at ${end}`;
    const count = (counts.get(end) ?? 0) + cost;
    counts.set(end, count);
    if (count > limit) return `${at}: ${count} of ${limit} in the window that ends at ${end}`;
  }
  return undefined;
}

/** In any time of one window at most the limit. */
function ofLog(limit: number, size: number, admissions: readonly Admission[]) {
  let oldest = 0;
  let sum = 0;
  for (const { at, cost } of admissions) {
    sum += cost;
    for (; admissions[oldest]!.at <= at - size; oldest += 1) sum -= admissions[oldest]!.cost;
    if (sum > limit) return `${at}: ${sum} of ${limit} in one window`;
  }
  return undefined;
}

/** In each window, with what has not yet faded of the one before, at most the limit. */
function ofCounter(limit: number, size: number, admissions: readonly Admission[]) {
  const counts = new Map<number, number>();
  for (const { at, cost } of admissions) {
    const start = at - (at % size);
    const current = (counts.get(start) ?? 0) + cost;
    counts.set(start, current);
    const previous = counts.get(start - size) ?? 0;
    const faded = Math.floor((previous * (size - (at - start))) / size);
    if (current + faded > limit) return `${at}: ${current} + ${faded} of ${limit}`;
  }
  return undefined;
}

/** In any time t at most capacity + rate x t: a bucket of that size, fed with everything, never runs over. `rate` a microsecond. */
function ofBucket(capacity: number, rate: number, admissions: readonly Admission[]) {
  let level = 0;
  let last = 0;
  for (const { at, cost } of admissions) {
    level = Math.max(0, level - (at - last) * rate) + cost;
    last = at;
    if (level > capacity + 1e-6) return `${at}: ${level} in a bucket of ${capacity}`;
  }
  return undefined;
}

/** Nobody acts before the one ahead has had its time; moments are told rounded up to a microsecond. */
function ofShaping({ leakRate, capacity }: LeakyBucketPolicy, admissions: readonly Admission[]) {
  const slots = admissions.map(({ at, delay, cost }) => ({ at: at + delay, cost, delay })).sort((a, b) => a.at - b.at);
  let free = 0;
  for (const { at, cost, delay } of slots) {
    if (at < free - 1 - 1e-6) return `${at}: the slot before lasts until ${free}`;
    if ((delay * leakRate) / 1e6 > capacity) return `${at}: ${delay} us to wait in a queue of ${capacity}`;
    free = at + (cost * 1e6) / leakRate;
  }
  return undefined;
}
