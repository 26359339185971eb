/**
 * Mistakes in the setup that only traffic shows. Each is said once, with a code and a page: it is a `SluiceError` that is
 * reported instead of thrown, because the request it shows in is not to blame.
 */
import { type Mistake, SluiceError } from '../model/errors.ts';

export type OnWarning = (warning: SluiceError) => void;
/** Takes plain data, so that a mistake seen in every request costs nothing after the first. */
export type Warn = (mistake: Mistake) => void;

/** What each who listens has been told, by code: ten routes with the same mistake are one warning. */
const told = new WeakMap<OnWarning, Set<string>>();

export function warnOnce(onWarning: OnWarning = emitWarning): Warn {
  const said = told.get(onWarning) ?? new Set<string>();
  told.set(onWarning, said);
  return (mistake) => {
    if (said.has(mistake.code)) return;
    said.add(mistake.code);
    onWarning(new SluiceError(mistake));
  };
}

interface Runtime {
  readonly process?: { emitWarning?(warning: Error): void };
}

/** Node, Bun and Deno print it; where there is no such thing, as in workers, `onWarning` is the only way to hear of it. */
function emitWarning(warning: SluiceError): void {
  const { process } = globalThis as Runtime;
  process?.emitWarning?.(warning);
}
