/** Numbers as people read them. */

export function seconds(ms: number, digits = 1): string {
  if (!Number.isFinite(ms)) return 'never';
  if (ms >= 600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 1000).toFixed(digits)} s`;
}

/** A countdown never says nothing is left while something is. */
export function countdown(ms: number): string {
  return seconds(Math.ceil(ms / 100) * 100);
}

/** Up to two digits after the point, and none that say nothing. */
export function amount(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Lab time, for axes and logs. */
export function clockTime(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}:${((ms - minutes * 60_000) / 1000).toFixed(2).padStart(5, '0')}`;
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
