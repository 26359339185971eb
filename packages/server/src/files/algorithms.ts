/** What a config knows of algorithms: all of it from how the library declares them. */
import { algorithms } from 'sluice';
import type { Field } from 'sluice/algorithm';

export const ALGORITHM_NAMES: readonly string[] = algorithms.map(({ name }) => name);

/** The fields of an algorithm by their names, in the order people read them. */
export function fieldsOf(algorithm: string): readonly (readonly [name: string, field: Field])[] {
  return Object.entries(algorithms.find(({ name }) => name === algorithm)?.fields ?? {});
}

/** Algorithms whose policies are a limit and a period: nothing else has to be said. */
export const OF_NUMBERS_ALONE: readonly string[] = ALGORITHM_NAMES.filter((name) =>
  fieldsOf(name).every(([, field]) => field.kind !== 'choice' || !field.required),
);

/** What may differ between plans and overrides. A word says what kind of state there is, which a name has only one of. */
export function isNumber({ kind }: Field): boolean {
  return kind !== 'choice' && kind !== 'text';
}

/** All numbers that any algorithm has. */
export const NUMBERS: ReadonlyMap<string, Field> = new Map(
  ALGORITHM_NAMES.flatMap((name) => fieldsOf(name).filter(([, field]) => isNumber(field))),
);

export const NUMBER_NAMES: readonly string[] = [...NUMBERS.keys()];
