/**
 * An algorithm that the lab has never heard of: all it knows is how its fields are called and read, as the algorithm declares them. It gets a row, a
 * form, code, and a picture of how much is used, told by the limits and resets of its answers.
 */

import { amount, durationCode, durationWords } from '../../words/words.ts';
import type { FieldKind } from '../field-text.ts';
import { type Draft, type Field, type Kind, type Numbers, numberIn } from '../kind.ts';
import type { SharedLimit } from '../limit.ts';
import { levelPicture } from '../pictures/level.ts';
import { perSecond, rateCode } from '../rates.ts';
import { levelAt } from '../state.ts';

/** What an algorithm says of itself. */
export interface Declaration {
  readonly algorithm: string;
  readonly title?: string;
  readonly summary?: string;
  readonly factory?: string;
  readonly fields: Readonly<Record<string, DeclaredField>>;
}

export interface DeclaredField {
  readonly kind: FieldKind;
  /** What it means, in a sentence. */
  readonly about?: string;
  /** Of a choice; the first is the default. */
  readonly of?: readonly string[];
}

export function genericKind({ algorithm, title, summary, factory, fields }: Declaration): Kind {
  const list = Object.entries(fields).map(([name, field]): Field => {
    const choices = field.of?.map((value) => ({ value, label: words(value) }));
    const hint = [field.about, HINTS[field.kind]].filter(Boolean).join(' ');
    return { name, kind: field.kind, label: words(name), hint, ...(choices === undefined ? {} : { choices }) };
  });
  const named = title ?? words(algorithm);
  return {
    ...{ id: algorithm, algorithm, title: named, short: named, tradeOff: summary ?? 'An algorithm of your own.' },
    steps: [],
    knownFrom: '',
    burst: '',
    bestFor: '',
    factory: factory ?? camelCase(algorithm),
    shapes: false,
    hasBurst: 'capacity' in fields,
    fixed: {},
    defaults: {},
    fields: list,
    picture: levelPicture,
    draftOf: (limit) => Object.fromEntries(list.map((field) => [field.name, guess(field, limit)])) as Draft,
    summary: (numbers) => list.map((field) => valueText(field, numbers)).join(', '),
    capacity: (numbers) => firstNumber(numbers, ['capacity', 'limit']) ?? 1,
    meant: (numbers, window) => ({
      units: firstNumber(numbers, ['limit', 'capacity']) ?? 1,
      window: firstNumber(numbers, ['window', 'period']) ?? window,
    }),
    clockWindow: () => Number.POSITIVE_INFINITY,
    used: levelAt,
    why: () => 'nothing left',
  };
}

const HINTS: Readonly<Record<FieldKind, string>> = {
  count: 'a whole number',
  duration: 'for example 10 s, 1 min',
  rate: 'units a second, or 600/min',
  choice: '',
  text: '',
};

/** What a field of this kind and name most likely means by the shared limit. */
function guess({ name, kind }: Field, { units, window, burst }: SharedLimit): string {
  if (kind === 'duration') return durationCode(window);
  if (kind === 'rate') return String(rateCode(perSecond(units, window)));
  return kind === 'count' ? String(name === 'capacity' ? burst : units) : '';
}

function valueText({ name, kind, label }: Field, numbers: Numbers): string {
  const value = numbers[name];
  if (typeof value !== 'number') return `${label.toLowerCase()} ${String(value)}`;
  const text = kind === 'duration' ? durationWords(value) : amount(value);
  return `${label.toLowerCase()} ${kind === 'rate' ? `${text}/s` : text}`;
}

function firstNumber(numbers: Numbers, names: readonly string[]): number | undefined {
  const found = names.find((name) => typeof numbers[name] === 'number');
  return found === undefined ? undefined : numberIn(numbers, found);
}

/** `leakRate` and `leak-rate` are "Leak rate". */
function words(name: string): string {
  const spaced = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('-', ' ')
    .toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
