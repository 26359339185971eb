/** From a burst curve to limits: what keeps a share of the clients from ever being denied, where the curve bends, and what that would have meant. */
import { fixedWindow, type Policy, type Rate, slidingWindowCounter, slidingWindowLog, tokenBucket } from 'sluice';
import { BurstCurve } from './burst-curve.ts';

/** Rates that people write, for limits in requests. */
const RATES: readonly string[] = [
  ...['1/h', '2/h', '5/h', '10/h', '20/h', '30/h', '1/m', '2/m', '5/m', '10/m', '20/m', '30/m'],
  ...['1/s', '2/s', '5/s', '10/s', '20/s', '50/s', '100/s', '200/s', '500/s', '1000/s', '2000/s', '5000/s'],
];

/** The same for limits in something finer, such as tokens. */
const COST_RATES: readonly string[] = [
  ...['100/m', '200/m', '500/m', '1000/m', '2000/m', '5000/m', '10000/m', '20000/m', '50000/m', '100000/m', '200000/m'],
  ...['500000/m', '1000000/m', '2000000/m', '5000000/m', '10000000/m', '20000000/m', '50000000/m', '100000000/m'],
];

const WINDOWS = ['1s', '1m', '1h', '1d'] as const;

/** Shares of clients that a curve is drawn for. */
export const SHARES = [0.5, 0.9, 0.99, 0.999] as const;

/** The rates and window lengths that a curve is made for, as people write them. */
export interface CurveChoice {
  readonly rates: readonly string[];
  readonly windows: readonly string[];
}

/** Rates for requests, or for costs such as tokens; or your own. */
export function curveChoice(hasCosts: boolean, rates?: readonly string[]): CurveChoice {
  return { rates: rates ?? (hasCosts ? COST_RATES : RATES), windows: WINDOWS };
}

/** A curve at rates as the library reads them. */
export function curveFor({ rates, windows }: CurveChoice): BurstCurve {
  const perSecond = rates.map((rate) => tokenBucket({ capacity: 1, refillRate: rate as Rate }).refillRate);
  const sizes = windows.map((window) => fixedWindow({ limit: 1, window: window as '1m' }).window * 1e3);
  return new BurstCurve(perSecond, sizes);
}

/** What clients need at one rate, or in windows of one length. */
export interface CurvePoint {
  /** As people write it: `10/s`, `1m`. */
  readonly text: string;
  /** The capacity or limit that keeps each of `SHARES`. */
  readonly shares: readonly number[];
  /** The one that keeps the share that was asked for. */
  readonly keep: number;
  /** The one that keeps everyone. */
  readonly everyone: number;
  /** How many clients the limit of `keep` denies: never more than were given up. */
  readonly clientsDenied: number;
}

/** Limits that a log suggests. */
export interface Suggested {
  readonly clients: number;
  /** 0 to 1. */
  readonly keep: number;
  /** By rate. */
  readonly buckets: readonly CurvePoint[];
  /** The rate where the curve bends: a lower one needs much more capacity, a higher one hardly less. */
  readonly knee: number;
  readonly fixed: readonly CurvePoint[];
  /** What a sliding window counter counts. */
  readonly sliding: readonly CurvePoint[];
  /** What a sliding window log counts: the most in any window. None for a window of a day. */
  readonly log: readonly CurvePoint[];
  readonly suggestions: readonly Suggestion[];
}

/** A policy, and how many clients it denies on the log that it was read from. */
export interface Suggestion {
  readonly policy: Policy;
  readonly clientsDenied: number;
}

/** How many clients may be denied. */
export function givenUp(clients: number, keep: number): number {
  // A share such as 0.999 is no exact number, and a whole client must not be lost to that.
  return Math.floor(clients * (1 - keep) + 1e-9);
}

/** The limits that a curve suggests. `keep` is the share of clients that must never be denied, 0 to 1. */
export function suggested(curve: BurstCurve, choice: CurveChoice, keep: number): Suggested {
  const buckets = choice.rates.map((text, index) => pointOf(text, curve.capacities(index), keep));
  const fixed = choice.windows.map((text, index) => pointOf(text, curve.limits(index, 'fixed'), keep));
  const sliding = choice.windows.map((text, index) => pointOf(text, curve.limits(index, 'sliding'), keep));
  const log = choice.windows.slice(0, curve.logs).map((text, index) => pointOf(text, curve.limits(index, 'log'), keep));
  const clients = curve.capacities(0).length;
  const knee = kneeOf(curve.rates, buckets);
  const suggestions = clients === 0 ? [] : suggestionsOf(buckets[knee]!, sliding, log, fixed);
  return { clients, keep, buckets, knee, fixed, sliding, log, suggestions };
}

function pointOf(text: string, sorted: Float64Array, keep: number): CurvePoint {
  const at = (share: number): number => sorted[Math.max(0, sorted.length - 1 - givenUp(sorted.length, share))] ?? 0;
  const chosen = Math.max(1, at(keep));
  return {
    text,
    shares: SHARES.map((share) => Math.max(1, at(share))),
    keep: chosen,
    everyone: Math.max(1, at(1)),
    clientsDenied: sorted.length - firstAbove(sorted, chosen),
  };
}

function firstAbove(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The point of the curve, on logarithmic scales, that is furthest below the line from its first point to its last. Where none is below it, the
 * first rate beyond which nothing is gained.
 */
function kneeOf(rates: Float64Array, points: readonly CurvePoint[]): number {
  const x = [...rates].map(Math.log);
  const y = points.map(({ keep }) => Math.log(keep));
  // Beyond the first point that is as low as the last, a higher rate gains nothing.
  const last = Math.max(
    1,
    points.findIndex(({ keep }) => keep === points.at(-1)!.keep),
  );
  const share = (value: number, from: number, to: number): number => (to === from ? 0 : (value - from) / (to - from));
  let best = Math.min(last, points.length - 1);
  let depth = 0;
  for (let index = best; index >= 0; index -= 1) {
    const line = 1 - share(x[index]!, x[0]!, x[last] ?? 0);
    const below = line - share(y[index]!, y[last] ?? 0, y[0]!);
    if (below > depth + 1e-9) [best, depth] = [index, below];
  }
  return best;
}

/** Of a sliding window log: its memory. */
const MOST_LOG = 10_000_000;

/** A bucket where the curve bends, windows for each length, a log for the minute. */
function suggestionsOf(
  bucket: CurvePoint,
  sliding: readonly CurvePoint[],
  log: readonly CurvePoint[],
  fixed: readonly CurvePoint[],
): Suggestion[] {
  const of = (policy: Policy, { clientsDenied }: CurvePoint): Suggestion => ({ policy, clientsDenied });
  const day = fixed.at(-1)!;
  return [
    of(tokenBucket({ capacity: bucket.keep, refillRate: bucket.text as Rate }), bucket),
    ...sliding
      .slice(0, -1)
      .map((point) => of(slidingWindowCounter({ limit: point.keep, window: point.text as '1m' }), point)),
    ...log
      .filter(({ text, keep }) => text === '1m' && keep <= MOST_LOG)
      .map((point) => of(slidingWindowLog({ limit: point.keep, window: '1m' }), point)),
    of(fixedWindow({ limit: day.keep, window: day.text as '1d' }), day),
  ];
}
