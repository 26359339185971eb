/**
 * What happens right now: decisions by policy, whose they are, and how fast the store is, over the last seconds. Each second has its own
 * numbers in a ring, so memory is bounded and what is old goes by itself. Unlike the metrics it names keys.
 */
import { HeavyHitters, type Hitter, mostFrequent } from './heavy-hitters.ts';

/** How far back one can look. */
export const MAX_SECONDS = 60;
/** Counters for each second. Together with a limit on the length of keys it bounds the memory. */
const COUNTERS = 100;

export interface LivePolicy {
  readonly name: string;
  readonly allowed: number;
  readonly denied: number;
  readonly allowedPerSecond: number;
  readonly deniedPerSecond: number;
  /** From 0 to 1. */
  readonly deniedShare: number;
}

export interface LiveKey {
  readonly policy: string;
  readonly key: string;
  /** Decisions, at most `error` too many. */
  readonly count: number;
  readonly error: number;
}

export interface LiveView {
  /** What the numbers are of: up to now. */
  readonly seconds: number;
  readonly policies: readonly LivePolicy[];
  readonly store: {
    /** Of what the store answered itself; null when it has answered nothing. */
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
    /** From 0 to 1: answers that came from somebody else because the store did not answer. */
    readonly fallbackShare: number;
  };
  readonly top: { readonly denied: readonly LiveKey[]; readonly busiest: readonly LiveKey[] };
}

export interface LiveDecision {
  readonly policy: string;
  readonly key: string;
  readonly allowed: boolean;
}

export class Live {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #ring: Second[] = [];

  /** Milliseconds on a clock that only goes on. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** One answer of the store: its decisions, who gave it, and how many seconds that took until now. */
  answered(decisions: readonly LiveDecision[], source: string, seconds: number, now = this.#now()): void {
    const second = this.#secondOf(now);
    second.answers += 1;
    if (source === 'fallback' || source === 'fail-closed') second.fallbacks += 1;
    if (source === 'store') second.durations[bucketOf(seconds)]! += 1;
    for (const { policy, key, allowed } of decisions) {
      const counts = second.countsOf(policy);
      const item = policy + SEPARATOR + key;
      second.busiest.add(item);
      if (allowed) counts.allowed += 1;
      else {
        counts.denied += 1;
        second.denied.add(item);
      }
    }
  }

  /** Of the last `seconds` whole seconds and the one that has begun; `policies` are listed even if nobody asked for them. */
  view(seconds: number, top: number, policies: Iterable<string> = []): LiveView {
    const now = this.#now();
    const first = Math.floor(now / 1e3) - seconds;
    const covered = Math.max(0.001, (now - Math.max(first * 1e3, this.#startedAt)) / 1e3);
    const recent = this.#ring.filter(({ number }) => number >= first);
    return {
      seconds: rounded(covered),
      policies: policiesOf(recent, covered, policies),
      store: storeOf(recent),
      top: {
        denied: mostFrequent(
          recent.map(({ denied }) => denied),
          top,
        ).map(liveKey),
        busiest: mostFrequent(
          recent.map(({ busiest }) => busiest),
          top,
        ).map(liveKey),
      },
    };
  }

  #secondOf(now: number): Second {
    const number = Math.floor(now / 1e3);
    const place = number % (MAX_SECONDS + 1);
    const found = this.#ring[place];
    if (found?.number === number) return found;
    const fresh = new Second(number);
    this.#ring[place] = fresh;
    return fresh;
  }
}

interface Counts {
  allowed: number;
  denied: number;
}

class Second {
  readonly number: number;
  readonly policies = new Map<string, Counts>();
  readonly denied = new HeavyHitters(COUNTERS);
  readonly busiest = new HeavyHitters(COUNTERS);
  readonly durations = new Uint32Array(BUCKETS);
  answers = 0;
  fallbacks = 0;

  constructor(number: number) {
    this.number = number;
  }

  countsOf(policy: string): Counts {
    const known = this.policies.get(policy);
    if (known !== undefined) return known;
    const fresh = { allowed: 0, denied: 0 };
    this.policies.set(policy, fresh);
    return fresh;
  }
}

/** Between policy and key: no policy's name has a line end. */
const SEPARATOR = '\n';

function liveKey({ item, count, error }: Hitter): LiveKey {
  const end = item.indexOf(SEPARATOR);
  return { policy: item.slice(0, end), key: item.slice(end + 1), count, error };
}

function policiesOf(recent: readonly Second[], seconds: number, names: Iterable<string>): LivePolicy[] {
  const sums = new Map([...names].map((name): [string, Counts] => [name, { allowed: 0, denied: 0 }]));
  for (const { policies } of recent) {
    for (const [name, { allowed, denied }] of policies) {
      const sum = sums.get(name) ?? { allowed: 0, denied: 0 };
      sums.set(name, { allowed: sum.allowed + allowed, denied: sum.denied + denied });
    }
  }
  return [...sums].map(([name, { allowed, denied }]) => ({
    ...{ name, allowed, denied },
    allowedPerSecond: rounded(allowed / seconds),
    deniedPerSecond: rounded(denied / seconds),
    deniedShare: share(denied, allowed + denied),
  }));
}

function storeOf(recent: readonly Second[]): LiveView['store'] {
  const durations = Array.from({ length: BUCKETS }, (_, index) =>
    recent.reduce((sum, second) => sum + second.durations[index]!, 0),
  );
  const total = (field: 'answers' | 'fallbacks'): number => recent.reduce((sum, second) => sum + second[field], 0);
  return {
    p50Ms: quantileMs(durations, 0.5),
    p99Ms: quantileMs(durations, 0.99),
    fallbackShare: share(total('fallbacks'), total('answers')),
  };
}

/** Durations by powers of 1.2 from a microsecond on: a quantile is at most a fifth too high, and a minute still has a place. */
const [SMALLEST_SECONDS, STEP, BUCKETS] = [1e-6, 1.2, 100];
const LOG_STEP = Math.log(STEP);

function bucketOf(seconds: number): number {
  const steps = Math.ceil(Math.log(seconds / SMALLEST_SECONDS) / LOG_STEP);
  return Math.min(BUCKETS - 1, Math.max(0, steps));
}

/** The upper edge of the bucket in which it lies. */
function quantileMs(durations: readonly number[], quantile: number): number | null {
  const total = durations.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rank = Math.ceil(total * quantile);
  const bucket = durations.findIndex((count) => {
    rank -= count;
    return rank <= 0;
  });
  return rounded(SMALLEST_SECONDS * STEP ** bucket * 1e3);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : rounded(part / whole);
}

function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
