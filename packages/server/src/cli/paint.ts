/** Colours, for those who look at a terminal. Nothing is said by colour alone. */

type Paint = (text: string) => string;

export interface Painter {
  /** Yes, done. */
  readonly good: Paint;
  /** No, wrong. */
  readonly bad: Paint;
  /** What matters less. */
  readonly dim: Paint;
}

const AS_IT_IS: Paint = (text) => text;
const PLAIN: Painter = { good: AS_IT_IS, bad: AS_IT_IS, dim: AS_IT_IS };

function sgr(on: number, off: number): Paint {
  return (text) => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`);
}

const COLORED: Painter = { good: sgr(32, 39), bad: sgr(31, 39), dim: sgr(2, 22) };

export function painter(isColored: boolean | undefined): Painter {
  return isColored === true ? COLORED : PLAIN;
}

const FIRST_WORDS: readonly (readonly [keyof Painter, RegExp])[] = [
  ['good', /^(?:allowed|done)(?=:)/],
  ['bad', /^(?:denied|lost)(?=:)/],
];

/** The word that an answer begins with. */
export function paintAnswer(text: string, paint: Painter): string {
  for (const [how, word] of FIRST_WORDS) {
    if (word.test(text)) return text.replace(word, paint[how]);
  }
  return text;
}

/** https://no-color.org and https://force-color.org: whoever forces has the last word. */
export function wantsColors(
  { NO_COLOR = '', FORCE_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return NO_COLOR === '' && isTerminal && TERM !== 'dumb';
}
