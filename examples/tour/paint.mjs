/** Marks and colours. The marks differ without the colours, so a pipe, a log and NO_COLOR lose nothing. */

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

const COLOUR_OF = { allowed: 'green', denied: 'red', delayed: 'yellow', released: 'cyan' };

export const MARKS = { allowed: '●', denied: '×', delayed: '◔', released: '▸' };

/** `paint.red('text')` and its siblings; without colours they give the text back. */
export function painter(hasColours) {
  const paint = {};
  for (const [style, code] of Object.entries(CODES)) {
    paint[style] = hasColours ? (text) => `\u001b[${code}m${text}\u001b[0m` : (text) => text;
  }
  /** A text in the colour of an outcome. */
  paint.as = (outcome, text) => paint[COLOUR_OF[outcome]](text);
  paint.mark = (outcome) => paint.as(outcome, MARKS[outcome]);
  return paint;
}
