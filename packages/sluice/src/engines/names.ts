/**
 * The name of a key in an engine that takes plain text of a bounded length: no two keys share one. What such text cannot hold is escaped, and what is
 * too long is known by its hash, whose name no key that is short enough can have.
 */
import { sha256 } from '../redis/sha256.ts';

export interface NameOptions {
  readonly prefix?: string | undefined;
  readonly hashKeys?: boolean | undefined;
}

/** `%` starts an escape. Control characters end words and texts; a lone surrogate has no UTF-8 form of its own. */
const UNSAFE = /[%\p{Cc}\p{Surrogate}]/gu;
const UNSAFE_IN_WORDS = /[%\s\p{Cc}\p{Surrogate}]/gu;

/** Names of at most `most` characters. `words`: without blanks as well. */
export function nameMaker(
  { prefix = 'sluice', hashKeys = false }: NameOptions,
  most: number,
  words = false,
): (key: string) => string {
  const unsafe = words ? UNSAFE_IN_WORDS : UNSAFE;
  const escaped = (text: string): string =>
    text.replace(unsafe, (character) => `%${character.charCodeAt(0).toString(16)};`);
  const start = `${escaped(prefix)}:`;
  return (key) => {
    const name = hashKeys || key.length > most ? undefined : start + escaped(key);
    return name === undefined || name.length > most ? `${start}%${sha256(key)}` : name;
  };
}
