/** The seconds that were seen: those the server remembers when the page opens, and from then on as many as the charts show. */
import type { LiveSecond } from './live-answer.ts';

const KEPT_SECONDS = 300;

export type History = readonly LiveSecond[];

/** Each second once, in order. */
export function withSeconds(history: History, fresh: readonly LiveSecond[]): History {
  const first = fresh[0]?.second ?? Number.POSITIVE_INFINITY;
  const last = fresh.at(-1)?.second ?? 0;
  return [...history.filter(({ second }) => second < first && second > last - KEPT_SECONDS), ...fresh];
}

export interface Point {
  readonly at: number;
  readonly allowed: number;
  /** Of a dry run: what it would deny. */
  readonly denied: number;
}

const NONE = { allowed: 0, denied: 0, deniedByOthers: 0, wouldDeny: 0 };

/** All requests, or what one policy said. What a dry run would deny it has allowed: as denied it stands on top of the rest. */
export function pointsOf(
  history: History,
  policy?: { readonly name: string; readonly shadow: boolean },
): readonly Point[] {
  return history.map(({ at, requests, policies }) => {
    if (policy === undefined) return { at, ...requests };
    const { allowed, denied, wouldDeny } = policies[policy.name] ?? NONE;
    return policy.shadow ? { at, allowed: allowed - wouldDeny, denied: wouldDeny } : { at, allowed, denied };
  });
}

/** The average of the last seconds. */
export function rateOf(points: readonly Point[], seconds = 3): { readonly allowed: number; readonly denied: number } {
  const last = points.slice(-seconds);
  const sum = (name: 'allowed' | 'denied'): number => last.reduce((all, point) => all + point[name], 0);
  const over = Math.max(1, last.length);
  return { allowed: sum('allowed') / over, denied: sum('denied') / over };
}

/** The highest a chart has to reach, as a number people like: 1, 2 or 5 times a power of ten. */
export function niceMaximum(...charts: readonly (readonly Point[])[]): number {
  const most = Math.max(1, ...charts.flat().map(({ allowed, denied }) => allowed + denied));
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((nice) => nice >= most)!;
}

/** How many seconds a chart shows: more, as soon as there are more. */
export function shownSeconds(history: History): number {
  const seen = (history.at(-1)?.second ?? 0) - (history[0]?.second ?? 0);
  return [60, 120].find((seconds) => seen <= seconds) ?? KEPT_SECONDS;
}
