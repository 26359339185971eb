/** Numbers of the live view as people read them. */
import { count } from '../words/words.ts';

export function rate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

export function percent(share: number): string {
  return share > 0 && share < 0.001 ? '< 0.1 %' : `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}

export function milliseconds(ms: number | null): string {
  if (ms === null) return '–';
  return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;
}

/** How long ago, or how long: 12 s, 3 min, 2 h. */
export function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** The time of day of a Unix time in seconds. */
export function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB');
}
