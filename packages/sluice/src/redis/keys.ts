/**
 * Where a state lives in Redis: `sluice:{user:42}2t:burst` for a policy with a name, `sluice:{user:42}2t2s,a` for one that is known by its numbers.
 * The braces put all policies of a key into one cluster slot. Behind them stand the version of the format of states and the identity of the
 * policy, which begins with the code of its algorithm. No two pairs of key and policy share a name, whatever characters they hold: `}` ends
 * the key, so it is escaped inside it.
 */
import { checkFlag, invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { sha256 } from './sha256.ts';

export interface KeyOptions {
  /** Goes before every key, so that several applications can share a server. Default: `sluice`. */
  readonly prefix?: string | undefined;
  /** Stores a SHA-256 of the key instead of the key, so that no personal data is in Redis and in traces of commands. Default: false. */
  readonly hashKeys?: boolean | undefined;
}

export const DEFAULT_PREFIX = 'sluice';

/**
 * The version of the format in which states are written. It is raised when a script could misread what another version of it wrote, so that
 * processes of both versions can run at the same time: each has keys of its own. The first format had no number.
 */
export const FORMAT = '2';

export type KeyNamer = (key: string, policy: Policy) => string;

export function keyNamer(options: KeyOptions): KeyNamer {
  const start = keyStart(options);
  return (key, policy) => start(key) + FORMAT + ruleOf(policy).identity;
}

/** Where a mark is, in the slot of its key: `sluice:{user:42}2#id`. No identity of a policy begins so. */
export function markNamer(options: KeyOptions): (key: string, id: string) => string {
  const start = keyStart(options);
  const written = options.hashKeys === true ? sha256 : escaped;
  return (key, id) => `${start(key)}${FORMAT}#${written(id)}`;
}

/** What all states of a key begin with. */
export function keyStart({ prefix = DEFAULT_PREFIX, hashKeys = false }: KeyOptions): (key: string) => string {
  checkPrefix(prefix);
  checkFlag(hashKeys, 'redisStore.hashKeys');
  const start = prefix === '' ? '{' : `${prefix}:{`;
  const written = hashKeys ? sha256 : escaped;
  return (key) => `${start}${written(key)}}`;
}

/** `%` starts an escape. A lone surrogate has no UTF-8 form of its own and would meet all others in U+FFFD. */
const UNSAFE = /[%}\p{Surrogate}]/gu;

function escaped(key: string): string {
  if (key === '') return '%';
  return key.replace(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16)};`);
}

function checkPrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && prefix.length <= 128 && /^[^{}\p{Surrogate}]*$/u.test(prefix)) return;
  throw invalidOption('redisStore.prefix', 'well-formed text of at most 128 characters without { and }', prefix);
}
