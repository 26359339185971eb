/** The word that was probably meant by a misspelt one. Kept small: it is part of every bundle. */
import { type ErrorCode, SluiceError } from './errors.ts';

/**
 * The closest of `words`, if it is close enough to be meant: at most two letters away, or the same word with another ending,
 * such as `windowMs` for `window`.
 */
export function didYouMean(word: string, words: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  for (const away of [0, 1, 2]) {
    const meant = words.find((known) => {
      const other = known.toLowerCase();
      const isLonger = away === 1 && other.length > 3 && lower.startsWith(other);
      return away < Math.max(2, other.length / 2) && (isLonger || isWithin(away, lower, other));
    });
    if (meant !== undefined) return meant;
  }
  return undefined;
}

/** Whether so many letters to add, drop, change, or swap with a neighbour make one word of the other. */
function isWithin(letters: number, one: string, other: string): boolean {
  if (one === other) return true;
  if (one !== '' && one[0] === other[0]) return isWithin(letters, one.slice(1), other.slice(1));
  const isSwap = one[0] === other[1] && one[1] === other[0];
  const [after, otherAfter] = [one.slice(1), other.slice(1)];
  return (
    letters > 0 &&
    (isWithin(letters - 1, after, other) ||
      isWithin(letters - 1, one, otherAfter) ||
      isWithin(letters - 1, after, otherAfter) ||
      (isSwap && isWithin(letters - 1, one.slice(2), other.slice(2))))
  );
}

/** The error of a name that nothing has. It never has the value: nobody knows whether that is a secret. */
export function unknownName(
  code: ErrorCode,
  path: string,
  what: string,
  name: string,
  known: readonly string[],
): SluiceError {
  const meant = didYouMean(name, known);
  const cure = meant === undefined ? `The ${what}s are ${known.join(', ')}.` : `Did you mean \`${meant}\`?`;
  return new SluiceError({
    code,
    path: `${path}.${name}`,
    message: `${path}: unknown ${what} \`${name}\`. ${cure}`,
    known,
  });
}
