/** Rates as people write them. */
import { amount } from '../words/words.ts';

const SPANS = [
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
] as const;

/** Units a second in a form that the library reads back to the same number: those with many digits in a unit of time in which they are whole. */
export function rateCode(perSecond: number): number | string {
  if (perSecond === Number(perSecond.toFixed(4))) return perSecond;
  const whole = SPANS.find(([, seconds]) => Math.round(perSecond * seconds) / seconds === perSecond);
  return whole === undefined ? perSecond : `${Math.round(perSecond * whole[1])}/${whole[0]}`;
}

const WORDS: Readonly<Record<string, string>> = { s: 's', m: 'min', h: 'h', d: 'day' };

/** For people: "1/s", "100/min". */
export function rateWords(perSecond: number): string {
  const code = rateCode(perSecond);
  if (typeof code === 'string') {
    const [units, span] = code.split('/') as [string, string];
    return `${amount(Number(units))}/${WORDS[span]}`;
  }
  const span = SPANS.find(([, seconds]) => perSecond * seconds >= 0.1) ?? SPANS.at(-1)!;
  return `${amount(perSecond * span[1])}/${WORDS[span[0]]}`;
}

/** So many units in so many milliseconds. */
export function perSecond(units: number, window: number): number {
  return (units * 1000) / window;
}
