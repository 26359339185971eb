/** The seconds that were seen, as many as the charts show. The server remembers one minute; what lies before the page was opened is not drawn. */
import type { LiveAnswer } from './live-answer.ts';

const KEPT_SECONDS = 120;

export interface Rates {
  readonly allowed: number;
  readonly denied: number;
}

export interface Sample {
  /** Unix time in seconds. */
  readonly at: number;
  readonly policies: Readonly<Record<string, Rates>>;
}

export type History = readonly Sample[];

export function withAnswer(history: History, { at, policies }: LiveAnswer): History {
  const sample: Sample = {
    at,
    policies: Object.fromEntries(
      policies.map(({ name, allowedPerSecond, deniedPerSecond }) => [
        name,
        { allowed: allowedPerSecond, denied: deniedPerSecond },
      ]),
    ),
  };
  return [...history.filter((earlier) => earlier.at < at && earlier.at > at - KEPT_SECONDS - 2), sample];
}

const NONE: Rates = { allowed: 0, denied: 0 };

/** Of one policy, or of all together. */
export function ratesOf({ policies }: Sample, policy?: string): Rates {
  if (policy !== undefined) return policies[policy] ?? NONE;
  return Object.values(policies).reduce(
    (sum, { allowed, denied }) => ({ allowed: sum.allowed + allowed, denied: sum.denied + denied }),
    NONE,
  );
}

/** The highest a chart has to reach, as a number people like: 1, 2 or 5 times a power of ten. */
export function niceMaximum(history: History, policy?: string): number {
  const most = Math.max(
    1,
    ...history.map((sample) => ratesOf(sample, policy)).map(({ allowed, denied }) => allowed + denied),
  );
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((nice) => nice >= most)!;
}

/** How many seconds a chart shows: more and more, as long as there are more. */
export function shownSeconds(history: History): number {
  const seen = (history.at(-1)?.at ?? 0) - (history[0]?.at ?? 0);
  return [30, 60].find((seconds) => seen <= seconds) ?? KEPT_SECONDS;
}
