/** What people type into a field: read generously, written shortly, refused with a sentence that says what to write instead. */

export type FieldKind = 'count' | 'duration' | 'rate' | 'choice' | 'text';

/** A field that could be read, as the library takes it, or what is wrong with it. */
export type FieldReading = { readonly value: string | number } | { readonly problem: string };

export const MOST_UNITS = 1_000_000_000;

const UNITS: Readonly<Record<string, string>> = {
  ...{ ms: 'ms', millisecond: 'ms', milliseconds: 'ms' },
  ...{ s: 's', sec: 's', secs: 's', second: 's', seconds: 's' },
  ...{ m: 'm', min: 'm', mins: 'm', minute: 'm', minutes: 'm' },
  ...{ h: 'h', hr: 'h', hrs: 'h', hour: 'h', hours: 'h' },
  ...{ d: 'd', day: 'd', days: 'd' },
  ...{ w: 'w', week: 'w', weeks: 'w' },
};

const NUMBER = String.raw`(\d+(?:\.\d+)?)`;
const PART = new RegExp(String.raw`${NUMBER}\s*([a-z]+)\s*`, 'g');
const RATE = new RegExp(String.raw`^${NUMBER}\s*(?:(?:\/|per|an?)\s*(\d[\d.]*)?\s*([a-z]+))?$`);
/** Longer texts are no times. */
const MOST_CHARACTERS = 40;

export function readField(kind: FieldKind, typed: string): FieldReading {
  const text = typed.trim().toLowerCase();
  switch (kind) {
    case 'count':
      return readCount(text);
    case 'duration':
      return readDuration(text);
    case 'rate':
      return readRate(text);
    case 'choice':
      return { value: text };
    case 'text':
      return { value: typed.trim() };
  }
}

function readCount(text: string): FieldReading {
  const digits = text.replace(/(?<=\d)[,_ ](?=\d{3}\b)/g, '');
  const value = /^\d{1,10}$/.test(digits) ? Number(digits) : 0;
  if (value >= 1 && value <= MOST_UNITS) return { value };
  return { problem: `Write a whole number from 1 to ${MOST_UNITS.toLocaleString('en')}.` };
}

/** A bare number is seconds, as it is for rates. Several parts are one time: 1 h 30 min. */
function readDuration(text: string): FieldReading {
  const typed = /^[\d.]+$/.test(text) ? `${text}s` : text.slice(0, MOST_CHARACTERS);
  const parts = [...typed.matchAll(PART)].map(([, digits, unit]) => ({ digits, unit: UNITS[unit!] }));
  const isAll = typed.replace(PART, '') === '' && parts.every(({ unit }) => unit !== undefined);
  const isPositive = parts.some(({ digits }) => Number(digits) > 0);
  if (isAll && isPositive) return { value: parts.map(({ digits, unit }) => `${digits}${unit}`).join('') };
  return { problem: 'Write a time such as 10 s, 250 ms, 1 min or 1 h.' };
}

function readRate(text: string): FieldReading {
  const [, digits, times = '', unit] = RATE.exec(text) ?? [];
  const known = unit === undefined ? undefined : UNITS[unit];
  const isTime = times === '' || Number(times) > 0;
  if (digits === undefined || Number(digits) === 0 || !isTime || (unit !== undefined && known === undefined)) {
    return { problem: 'Write units a second such as 2 or 0.5, or a rate such as 100/min or 1000/h.' };
  }
  return { value: known === undefined ? Number(digits) : `${digits}/${times}${known}` };
}
