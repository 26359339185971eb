/** Functions of the user's that are told what happens. They are told, not asked: what they throw or reject with is dropped. */
import { Kind, SluiceError } from '../model/errors.ts';

export type Hook<Event> = (event: Event) => void;

export function checkHook(hook: unknown, path: string): void {
  if (hook === undefined || typeof hook === 'function') return;
  throw new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected: 'a function', got: Kind.of(hook) });
}

/** A logger that fails must not fail the request it was to log, neither at once nor, when it is async, later. */
export function callHook<Event>(hook: Hook<Event> | undefined, event: Event): void {
  if (hook === undefined) return;
  try {
    Promise.resolve(hook(event) as unknown).catch(ignore);
  } catch {
    // As above.
  }
}

function ignore(): void {}
