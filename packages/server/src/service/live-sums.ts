/**
 * What the last seconds say, as one view: of one process, or of several together. Pure: states in, numbers out.
 */
import { type Hitter, mostFrequent } from './heavy-hitters.ts';
import {
  durationsOf,
  noCounts,
  type PolicyCounts,
  quantileMs,
  type RequestCounts,
  rounded,
  SEPARATOR,
  Second,
  type SecondCounts,
  share,
} from './live-second.ts';

/** What one process has counted. Several have one clock, so that their seconds are the same seconds. */
export interface LiveState {
  /** Milliseconds, as of the state. */
  readonly now: number;
  readonly startedAt: number;
  readonly seconds: readonly SecondCounts[];
}

export interface LiveRequests extends Readonly<RequestCounts> {
  readonly allowedPerSecond: number;
  readonly deniedPerSecond: number;
  /** From 0 to 1. */
  readonly deniedShare: number;
}

export interface LivePolicy extends LiveRequests, Readonly<PolicyCounts> {
  readonly name: string;
  readonly wouldDenyPerSecond: number;
  /** From 0 to 1. */
  readonly wouldDenyShare: number;
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
  readonly requests: LiveRequests;
  readonly policies: readonly LivePolicy[];
  readonly store: {
    /** Of what the store answered itself; null when it has answered nothing. */
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
    /** From 0 to 1: answers that came from somebody else because the store did not answer. */
    readonly fallbackShare: number;
  };
  readonly top: {
    readonly denied: readonly LiveKey[];
    readonly busiest: readonly LiveKey[];
    /** What policies in the shadow would have denied. */
    readonly wouldDeny: readonly LiveKey[];
  };
}

/** One second that is over. */
export interface LiveSecond {
  /** Its number on the clock of the server: the same second has the same number in every answer. */
  readonly second: number;
  /** How long ago it ended. */
  readonly secondsAgo: number;
  readonly requests: Readonly<RequestCounts>;
  readonly policies: Readonly<Record<string, Readonly<PolicyCounts>>>;
  readonly fallbackShare: number;
}

/** Of the last `seconds` whole seconds and the one that has begun; `policies` are listed even if nobody asked for them. */
export function viewOf(
  states: readonly LiveState[],
  seconds: number,
  top: number,
  policies: Iterable<string> = [],
): LiveView {
  const { now, startedAt } = spanOf(states);
  const first = Math.floor(now / 1e3) - seconds;
  const covered = Math.max(0.001, (now - Math.max(first * 1e3, startedAt)) / 1e3);
  const recent = states.flatMap((state) => state.seconds.filter(({ number }) => number >= first));
  const keys = (name: 'denied' | 'busiest' | 'wouldDeny'): readonly LiveKey[] =>
    mostFrequent(
      recent.map((second) => second[name]),
      top,
    ).map(liveKey);
  return {
    seconds: rounded(covered),
    requests: requestsOf(recent, covered),
    policies: policiesOf(recent, covered, policies),
    store: storeOf(recent),
    top: { denied: keys('denied'), busiest: keys('busiest'), wouldDeny: keys('wouldDeny') },
  };
}

/** Up to so many seconds that are over, the oldest first, none from before the start. */
export function historyOf(states: readonly LiveState[], seconds: number): readonly LiveSecond[] {
  const { now, startedAt } = spanOf(states);
  const current = Math.floor(now / 1e3);
  const first = Math.max(current - seconds, Math.floor(startedAt / 1e3));
  const known = new Map<number, SecondCounts[]>();
  for (const second of states.flatMap((state) => state.seconds)) {
    known.set(second.number, [...(known.get(second.number) ?? []), second]);
  }
  return Array.from({ length: Math.max(0, current - first) }, (_, index) => {
    const number = first + index;
    return liveSecond(number, known.get(number) ?? [new Second(number)], now);
  });
}

function spanOf(states: readonly LiveState[]): { now: number; startedAt: number } {
  return {
    now: Math.max(...states.map(({ now }) => now)),
    startedAt: Math.min(...states.map(({ startedAt }) => startedAt)),
  };
}

function liveKey({ item, count, error }: Hitter): LiveKey {
  const end = item.indexOf(SEPARATOR);
  return { policy: item.slice(0, end), key: item.slice(end + 1), count, error };
}

function liveSecond(number: number, parts: readonly SecondCounts[], now: number): LiveSecond {
  const total = (field: 'answers' | 'fallbacks'): number => parts.reduce((sum, part) => sum + part[field], 0);
  return {
    second: number,
    secondsAgo: now / 1e3 - (number + 1),
    requests: requestSums(parts),
    policies: Object.fromEntries(policySums(parts)),
    fallbackShare: share(total('fallbacks'), total('answers')),
  };
}

function requestsOf(recent: readonly SecondCounts[], seconds: number): LiveRequests {
  return ratesOf(requestSums(recent), seconds);
}

function requestSums(parts: readonly SecondCounts[]): RequestCounts {
  const sum = (name: keyof RequestCounts): number => parts.reduce((all, { requests }) => all + requests[name], 0);
  return { allowed: sum('allowed'), denied: sum('denied') };
}

function ratesOf({ allowed, denied }: RequestCounts, seconds: number, others = 0): LiveRequests {
  return {
    ...{ allowed, denied },
    allowedPerSecond: rounded(allowed / seconds),
    deniedPerSecond: rounded(denied / seconds),
    deniedShare: share(denied, allowed + denied + others),
  };
}

function policiesOf(recent: readonly SecondCounts[], seconds: number, names: Iterable<string>): LivePolicy[] {
  return [...policySums(recent, names)].map(([name, counts]) => ({
    name,
    ...counts,
    ...ratesOf(counts, seconds, counts.deniedByOthers),
    wouldDenyPerSecond: rounded(counts.wouldDeny / seconds),
    wouldDenyShare: share(counts.wouldDeny, counts.allowed),
  }));
}

function policySums(parts: readonly SecondCounts[], names: Iterable<string> = []): Map<string, PolicyCounts> {
  const sums = new Map([...names].map((name): [string, PolicyCounts] => [name, noCounts()]));
  for (const { policies } of parts) {
    for (const [name, counts] of policies) sums.set(name, added(sums.get(name) ?? noCounts(), counts));
  }
  return sums;
}

function added(one: PolicyCounts, other: PolicyCounts): PolicyCounts {
  return {
    allowed: one.allowed + other.allowed,
    denied: one.denied + other.denied,
    deniedByOthers: one.deniedByOthers + other.deniedByOthers,
    wouldDeny: one.wouldDeny + other.wouldDeny,
  };
}

function storeOf(recent: readonly SecondCounts[]): LiveView['store'] {
  const durations = durationsOf(recent);
  const total = (field: 'answers' | 'fallbacks'): number => recent.reduce((sum, second) => sum + second[field], 0);
  return {
    p50Ms: quantileMs(durations, 0.5),
    p99Ms: quantileMs(durations, 0.99),
    fallbackShare: share(total('fallbacks'), total('answers')),
  };
}
