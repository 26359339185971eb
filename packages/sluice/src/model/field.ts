/**
 * The fields of a policy, declared once by each algorithm. Checks, the JSON schema, YAML, `sluice explain`, the forms of the lab and the docs
 * are made from these declarations, so that an algorithm says what it takes in one place.
 */
import { parseDuration, parseRate } from './duration.ts';
import { wrong } from './errors.ts';

interface Declared {
  /** One sentence for people: what the field means. */
  readonly about: string;
}

/** A whole number of units, from 1 to `max`. `same` names an earlier field that it equals when it is left out. */
export interface CountField extends Declared {
  readonly kind: 'count';
  readonly max?: number | undefined;
  readonly same?: string | undefined;
}

/** A length of time, held as milliseconds. */
export interface DurationField extends Declared {
  readonly kind: 'duration';
}

/** Units a second. */
export interface RateField extends Declared {
  readonly kind: 'rate';
}

/** One of a few words; the first is the default, unless it has to be given. */
export interface ChoiceField extends Declared {
  readonly kind: 'choice';
  readonly of: readonly [string, ...string[]];
  readonly required?: true | undefined;
}

/** Text that only the algorithm can judge, such as a time zone. It may be left out. */
export interface TextField extends Declared {
  readonly kind: 'text';
  /** A regular expression for editors: texts that can be right. */
  readonly pattern: string;
  /** The largest whole number from 1 on that may be written instead of text, if one may. */
  readonly orNumberTo?: number | undefined;
  /** The value as a policy holds it. Throws the library's error for one that is wrong; `before` are the fields that were checked already. */
  check(value: unknown, path: string, before: Readonly<Record<string, unknown>>): string | number | undefined;
}

/** How one field of a policy is written and checked. */
export type Field = CountField | DurationField | RateField | ChoiceField | TextField;

/** The fields of an algorithm, in the order people read them. */
export type Fields = Readonly<Record<string, Field>>;

/** Whether plans and overrides may change the field. A word says what kind of state there is, which a name has only one of. */
export function isNumber({ kind }: Field): boolean {
  return kind !== 'choice' && kind !== 'text';
}

/** The value as a policy holds it. `before` are the fields that were checked already. */
export function checkField(
  field: Field,
  value: unknown,
  path: string,
  before: Readonly<Record<string, unknown>>,
): unknown {
  switch (field.kind) {
    case 'count':
      return checkLimit(value === undefined && field.same ? before[field.same] : value, path, field.max);
    case 'duration':
      return parseDuration(value, path);
    case 'rate':
      return parseRate(value, path);
    case 'choice':
      return checkChoice(value, path, field);
    case 'text':
      return field.check(value, path, before);
  }
}

function checkLimit(value: unknown, path: string, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  throw wrong('SLUICE_INVALID_LIMIT', path, `a whole number from 1 to ${max}`, value);
}

function checkChoice(value: unknown, path: string, { of, required }: ChoiceField): string {
  if (value === undefined && !required) return of[0];
  if (of.includes(value as string)) return value as string;
  throw wrong('SLUICE_INVALID_POLICY', path, of.map((choice) => `'${choice}'`).join(' or '), value);
}
