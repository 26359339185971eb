/**
 * Where a state lives in Redis: `sluice:{user:42}t`, or `sluice:{user:42}t:burst` for a policy with a name of its own.
 * The braces put all policies of a key into one cluster slot. The letter is the algorithm and with it the state's format.
 * No two pairs of key and policy share a name, whatever characters they hold: `}` ends the key, so it is escaped inside it.
 */
import { SluiceError } from '../model/errors.ts';
import { checkFlag } from '../model/options.ts';
import { algorithmCode, type Policy } from '../model/policy.ts';
import { sha256 } from './sha256.ts';

export interface KeyOptions {
  /** Goes before every key, so that several applications can share a server. Default: `sluice`. */
  readonly prefix?: string | undefined;
  /** Stores a SHA-256 of the key instead of the key, so that no personal data is in Redis and in traces of commands. */
  readonly hashKeys?: boolean | undefined;
}

export type KeyNamer = (key: string, policy: Policy) => string;

export function keyNamer({ prefix = 'sluice', hashKeys = false }: KeyOptions): KeyNamer {
  checkPrefix(prefix);
  checkFlag(hashKeys, 'redisStore.hashKeys');
  const start = prefix === '' ? '{' : `${prefix}:{`;
  const written = hashKeys ? sha256 : escaped;
  return (key, policy) => `${start}${written(key)}}${suffixOf(policy)}`;
}

const suffixes = new WeakMap<Policy, string>();

function suffixOf(policy: Policy): string {
  const known = suffixes.get(policy);
  if (known !== undefined) return known;
  const code = algorithmCode(policy);
  const suffix = policy.name === policy.algorithm ? code : `${code}:${policy.name}`;
  suffixes.set(policy, suffix);
  return suffix;
}

/** `%` starts an escape. A lone surrogate has no UTF-8 form of its own and would meet all others in U+FFFD. */
const UNSAFE = /[%}\p{Surrogate}]/gu;

function escaped(key: string): string {
  if (key === '') return '%';
  return key.replace(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16)};`);
}

function checkPrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && prefix.length <= 128 && /^[^{}\p{Surrogate}]*$/u.test(prefix)) return;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'redisStore.prefix',
    expected: 'well-formed text of at most 128 characters without { and }',
    got: prefix,
  });
}
