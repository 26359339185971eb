/** What is counted in one second, and what several of them say together. */
import { HeavyHitters, type Hits } from './heavy-hitters.ts';

/** Counters for each second. Together with a limit on the length of keys it bounds the memory. */
const COUNTERS = 100;

/** Whole requests: one is denied as soon as one policy denies it. */
export interface RequestCounts {
  allowed: number;
  denied: number;
}

/** Answers of one policy. The first three add up to all requests that it was asked about. */
export interface PolicyCounts extends RequestCounts {
  /** It would have allowed these, and another policy denied them: nothing was spent. */
  deniedByOthers: number;
  /** Of those allowed: what a policy in the shadow would have denied. */
  wouldDeny: number;
}

export interface LiveDecision {
  readonly policy: string;
  readonly key: string;
  readonly allowed: boolean;
  /** On trial: its "no" denies nobody. */
  readonly shadow: boolean;
}

/** Between policy and key: no policy's name has a line end. */
export const SEPARATOR = '\n';

/** What was counted in one second, as it is read: here, or as it came from another process. */
export interface SecondCounts {
  readonly number: number;
  readonly requests: Readonly<RequestCounts>;
  readonly policies: ReadonlyMap<string, Readonly<PolicyCounts>>;
  readonly denied: Hits;
  readonly wouldDeny: Hits;
  readonly busiest: Hits;
  readonly durations: Uint32Array;
  readonly answers: number;
  readonly fallbacks: number;
}

/** The same without methods, so that it can go to another process. */
export function plainSecond(second: SecondCounts): SecondCounts {
  const { number, requests, policies, durations, answers, fallbacks } = second;
  const plain = ({ unseen, hitters }: Hits): Hits => ({ unseen, hitters });
  return {
    ...{ number, requests, policies, durations, answers, fallbacks },
    denied: plain(second.denied),
    wouldDeny: plain(second.wouldDeny),
    busiest: plain(second.busiest),
  };
}

export class Second implements SecondCounts {
  readonly number: number;
  readonly requests: RequestCounts = { allowed: 0, denied: 0 };
  readonly policies = new Map<string, PolicyCounts>();
  readonly denied = new HeavyHitters(COUNTERS);
  readonly wouldDeny = new HeavyHitters(COUNTERS);
  readonly busiest = new HeavyHitters(COUNTERS);
  readonly durations = new Uint32Array(BUCKETS);
  answers = 0;
  fallbacks = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** All decisions about one attempt, which is denied when one of them is a "no" that counts. */
  decided(decisions: readonly LiveDecision[]): void {
    let isDenied = false;
    for (const { allowed, shadow } of decisions) if (!allowed && !shadow) isDenied = true;
    for (const decision of decisions) this.#decidedOne(decision, isDenied);
  }

  #decidedOne({ policy, key, allowed, shadow }: LiveDecision, isDenied: boolean): void {
    const counts = this.countsOf(policy);
    const item = policy + SEPARATOR + key;
    this.busiest.add(item);
    if (!allowed && !shadow) {
      counts.denied += 1;
      this.denied.add(item);
      return;
    }
    if (isDenied) counts.deniedByOthers += 1;
    else counts.allowed += 1;
    if (allowed) return;
    counts.wouldDeny += 1;
    this.wouldDeny.add(item);
  }

  countsOf(policy: string): PolicyCounts {
    const known = this.policies.get(policy);
    if (known !== undefined) return known;
    const fresh = noCounts();
    this.policies.set(policy, fresh);
    return fresh;
  }
}

export function noCounts(): PolicyCounts {
  return { allowed: 0, denied: 0, deniedByOthers: 0, wouldDeny: 0 };
}

/** Durations by powers of 1.2 from a microsecond on: a quantile is at most a fifth too high, and a minute still has a place. */
const [SMALLEST_SECONDS, STEP, BUCKETS] = [1e-6, 1.2, 100];
const LOG_STEP = Math.log(STEP);

export function bucketOf(seconds: number): number {
  const steps = Math.ceil(Math.log(seconds / SMALLEST_SECONDS) / LOG_STEP);
  return Math.min(BUCKETS - 1, Math.max(0, steps));
}

/** How long the store took in several seconds together, by bucket. */
export function durationsOf(seconds: readonly SecondCounts[]): readonly number[] {
  return Array.from({ length: BUCKETS }, (_, index) =>
    seconds.reduce((sum, second) => sum + second.durations[index]!, 0),
  );
}

/** The upper edge of the bucket in which it lies. */
export function quantileMs(durations: readonly number[], quantile: number): number | null {
  const total = durations.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rank = Math.ceil(total * quantile);
  const bucket = durations.findIndex((count) => {
    rank -= count;
    return rank <= 0;
  });
  return rounded(SMALLEST_SECONDS * STEP ** bucket * 1e3);
}

export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : rounded(part / whole);
}

export function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
