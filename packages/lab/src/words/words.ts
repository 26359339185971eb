/** Numbers and times as people read them. */

/** 29,370. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

/** Up to two digits after the point, and none that say nothing. */
export function amount(value: number): string {
  return count(Math.round(value * 100) / 100);
}

export function plural(value: number, word: string, words = `${word}s`): string {
  return `${count(value)} ${value === 1 ? word : words}`;
}

/** "a, b and c". */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

/** A time that was measured: 0.80 s, 3.3 min, 2.1 h. */
export function seconds(ms: number, digits = 1): string {
  if (!Number.isFinite(ms)) return 'never';
  if (ms < 2 * MINUTE) return `${(ms / SECOND).toFixed(digits)} s`;
  if (ms < 2 * HOUR) return `${(ms / MINUTE).toFixed(1)} min`;
  return ms < 2 * DAY ? `${(ms / HOUR).toFixed(1)} h` : `${(ms / DAY).toFixed(1)} days`;
}

/** A countdown never says nothing is left while something is. */
export function countdown(ms: number): string {
  return seconds(Math.ceil(ms / 100) * 100);
}

const UNITS = [
  [DAY, 'day', 'd'],
  [HOUR, 'h', 'h'],
  [MINUTE, 'min', 'm'],
  [SECOND, 's', 's'],
] as const;

function unitOf(ms: number): readonly [size: number, word: string, letter: string] {
  return UNITS.find(([size]) => ms >= size && ms % size === 0) ?? [1, 'ms', 'ms'];
}

/** A time that somebody chose: 10 s, 15 min, 1 day, 250 ms. */
export function durationWords(ms: number): string {
  const [size, word] = unitOf(ms);
  const value = amount(ms / size);
  return word === 'day' && ms !== size ? `${value} days` : `${value} ${word}`;
}

const ONE: Readonly<Record<number, string>> = { [SECOND]: 'second', [MINUTE]: 'minute', [HOUR]: 'hour', [DAY]: 'day' };

/** Behind "per" and "in any": minute, 10 s. */
export function perWords(ms: number): string {
  return ONE[ms] ?? durationWords(ms);
}

/** The same as the library reads it back: 10s, 15m, 1d, 250ms. */
export function durationCode(ms: number): string {
  const [size, , letter] = unitOf(ms);
  return `${ms / size}${letter}`;
}

/** Lab time, for axes and logs. */
export function clockTime(ms: number, digits = 2): string {
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(digits)} s`;
  const [hours, minutes] = [Math.floor(ms / HOUR), Math.floor((ms % HOUR) / MINUTE)];
  const rest = ((ms % MINUTE) / SECOND)
    .toFixed(hours > 0 ? 0 : digits)
    .padStart(digits > 0 && hours === 0 ? 3 + digits : 2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}
