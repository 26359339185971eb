/** Functions of the user's that are called with what happens. What they throw or reject with is dropped. */
export { checkFunction as checkHook } from '../model/options.ts';

/** Called with an event. */
export type Hook<Event> = (event: Event) => void;

/** A logger that fails must not fail the request it was to log, neither now nor, when it is asynchronous, later. */
export function callHook<Event>(hook: Hook<Event> | undefined, event: Event): void {
  if (hook === undefined) return;
  try {
    Promise.resolve(hook(event) as unknown).catch(ignore);
  } catch {
    // As above.
  }
}

function ignore(): void {}
