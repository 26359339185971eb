/** A policy on the command line: `token-bucket capacity=100 refillRate=10/s`. */
import { checkPolicy, type Policy } from 'sluice';
import { ALGORITHM_NAMES, fieldsOf } from '../files/algorithms.ts';
import { didYouMean } from './did-you-mean.ts';
import { UsageError } from './terminal.ts';

/** Throws a `UsageError` that names the word. */
export function parsePolicy(text: string): Policy {
  const [algorithm = '', ...words] = text.trim().split(/[\s,]+/);
  if (!ALGORITHM_NAMES.includes(algorithm)) {
    const hint = didYouMean(algorithm, ALGORITHM_NAMES);
    throw new UsageError(
      `--policy: there is no algorithm ${JSON.stringify(algorithm)}.${hint} There are ${ALGORITHM_NAMES.join(', ')}.`,
    );
  }
  const names = [...fieldsOf(algorithm).map(([name]) => name), 'name'];
  const fields = words.map((word) => fieldOf(word, algorithm, names));
  try {
    return checkPolicy({ algorithm, ...Object.fromEntries(fields) }, '--policy');
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function fieldOf(word: string, algorithm: string, names: readonly string[]): readonly [string, string | number] {
  const [, name, value] = /^(\w+)=(.+)$/.exec(word) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(
      `--policy: expected NAME=VALUE, got ${JSON.stringify(word)}. Of ${algorithm}: ${names.join(', ')}.`,
    );
  }
  if (!names.includes(name)) {
    const hint = didYouMean(name, names);
    throw new UsageError(
      `--policy: ${algorithm} has no field ${JSON.stringify(name)}.${hint} It has ${names.join(', ')}.`,
    );
  }
  return [name, name !== 'name' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value];
}
