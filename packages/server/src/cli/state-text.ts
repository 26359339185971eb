/** A decoded state in words. */
import type { State } from 'sluice/redis';

/** `at` is the server's time: Unix time in seconds. */
export function stateText(state: State | null, at: number): string {
  if (state === null) return 'nothing spent';
  if ('entries' in state) {
    const units = state.entries.reduce((sum, { cost }) => sum + cost, 0);
    return `${state.entries.length} entries, ${units} units, newest ${ageText(state.entries.at(-1)!.at, at)}`;
  }
  if ('count' in state) return `${state.count} since ${momentText(state.windowStart)}`;
  if ('previous' in state)
    return `${state.current} since ${momentText(state.windowStart)}, ${state.previous} in the window before`;
  if ('spent' in state) return `${rounded(state.spent)} tokens spent, as of ${ageText(state.at, at)}`;
  if ('level' in state) return `level ${rounded(state.level)}, as of ${ageText(state.at, at)}`;
  if ('nextFree' in state) return `next slot ${ageText(state.nextFree, at)}`;
  return `theoretical arrival ${ageText(state.theoreticalArrival, at)}`;
}

export function ageText(moment: number, at: number): string {
  const seconds = rounded(Math.abs(at - moment));
  return moment <= at ? `${seconds} s ago` : `in ${seconds} s`;
}

function momentText(seconds: number): string {
  return new Date(seconds * 1e3).toISOString();
}

function rounded(value: number): number {
  return Math.round(value * 1e3) / 1e3;
}
