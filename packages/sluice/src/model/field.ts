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

/** One of a few words; the first is the default. */
export interface ChoiceField extends Declared {
  readonly kind: 'choice';
  readonly of: readonly [string, ...string[]];
}

/** How one field of a policy is written and checked. */
export type Field = CountField | DurationField | RateField | ChoiceField;

/** The fields of an algorithm, in the order people read them. */
export type Fields = Readonly<Record<string, Field>>;

/** Whether plans and overrides may change the field. A choice says what kind of state there is, which a name has only one of. */
export function isNumber({ kind }: Field): boolean {
  return kind !== 'choice';
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
      return checkChoice(value, path, field.of);
  }
}

function checkLimit(value: unknown, path: string, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  throw wrong('SLUICE_INVALID_LIMIT', path, `a whole number from 1 to ${max}`, value);
}

function checkChoice(value: unknown, path: string, choices: readonly string[]): string {
  if (value === undefined) return choices[0]!;
  if (choices.includes(value as string)) return value as string;
  throw wrong('SLUICE_INVALID_POLICY', path, choices.map((choice) => `'${choice}'`).join(' or '), value);
}
