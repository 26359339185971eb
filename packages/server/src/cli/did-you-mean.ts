/** The word that was probably meant: one or two letters away, and not much of the word. */
export function didYouMean(word: string, words: readonly string[], prefix = ''): string {
  const [best] = words
    .map((known) => ({ known, distance: distance(word, known) }))
    .filter(({ known, distance }) => distance <= 2 && distance < Math.max(2, known.length / 2))
    .sort((one, other) => one.distance - other.distance);
  return best === undefined ? '' : ` Did you mean ${prefix}${best.known}?`;
}

/** Letters to add, drop, change, or swap with a neighbour. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const line = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const swapped = isSwap ? rows[row - 2]![column - 2]! + 1 : Number.POSITIVE_INFINITY;
      line.push(
        Math.min(rows[row - 1]![column]! + 1, line[column - 1]! + 1, rows[row - 1]![column - 1]! + same, swapped),
      );
    }
    rows.push(line);
  }
  return rows[one.length]![other.length]!;
}
