/** Which part of time the lanes show, and where in it a moment is. */
import type { Lab } from '../engine/lab.ts';

/** Milliseconds from the left to the right end. */
const SPANS = [6_000, 12_000, 36_000, 120_000, 600_000, 3_600_000] as const;
const INITIAL_SPAN = 36_000;
/** The share of the width that is kept for what is still to come: slots of a queue. */
const FUTURE = 0.15;

/** A little of what was before, so that a mark at the very start can be seen whole. */
const BEFORE = 0.02;

export interface View {
  readonly from: number;
  readonly to: number;
  readonly span: number;
}

/** It fills from the left first, then moves along with now; a moment that is looked at is always inside. */
export function viewOf(lab: Lab, span: number): View {
  const following = Math.max(lab.start - span * BEFORE, lab.now - span * (1 - FUTURE));
  const from = lab.viewed !== undefined && lab.viewed < following ? lab.viewed - span * 0.1 : following;
  return { from, to: from + span, span };
}

/** A whole story, or half a minute of real time. */
export function spanFor({ story, setup }: Pick<Lab, 'story' | 'setup'>): number {
  if (story !== undefined) return Math.ceil((story.end - story.start) / (1 - FUTURE - BEFORE) / 1000) * 1000;
  return SPANS.find((span) => span >= INITIAL_SPAN * setup.speed) ?? SPANS.at(-1)!;
}

/** The next larger or smaller span; undefined at the end. */
export function zoomed(span: number, isLarger: boolean): number | undefined {
  return isLarger ? SPANS.find((other) => other > span) : [...SPANS].reverse().find((other) => other < span);
}

const STEPS = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000];

/** Moments for the axis: round ones, not more than fit. */
export function ticksOf({ from, to, span }: View, most: number): readonly number[] {
  const step = STEPS.find((size) => span / size <= most) ?? STEPS.at(-1)!;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}
