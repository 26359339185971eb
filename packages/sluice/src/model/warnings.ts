/**
 * Mistakes in a setup that show only while a program runs, and outages. Each is a `SluiceError` that is reported instead of thrown, because the
 * attempt it shows in is not to blame.
 */
import { type Mistake, SluiceError } from './errors.ts';
import { emitWarning } from './runtime.ts';

/** Called with each warning. */
export type OnWarning = (warning: SluiceError) => void;
/** Takes plain data, so that a mistake seen in every request costs nothing after the first. */
export type Warn = (mistake: Mistake) => void;

/** What each listener has been called with, by code: ten routes with the same mistake are one warning. */
const said = new WeakMap<OnWarning, Set<string>>();

/** Warns once for each code and listener. */
export function warnOnce(onWarning: OnWarning = emitWarning): Warn {
  const codes = said.get(onWarning) ?? new Set<string>();
  said.set(onWarning, codes);
  return (mistake) => {
    if (codes.has(mistake.code)) return;
    codes.add(mistake.code);
    onWarning(new SluiceError(mistake));
  };
}
