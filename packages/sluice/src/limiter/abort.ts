/**
 * Who is to be told when a signal aborts. One listener for each signal, however many wait with it: a program often has one signal for
 * all it does, and the runtimes take many listeners for a leak. The last one who goes takes the listener along.
 */

interface Watch {
  readonly reactions: Set<() => void>;
  readonly listener: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

export function onAbort(signal: AbortSignal, reaction: () => void): void {
  (watches.get(signal) ?? watch(signal)).reactions.add(reaction);
}

export function offAbort(signal: AbortSignal, reaction: () => void): void {
  const { reactions, listener } = watches.get(signal)!;
  reactions.delete(reaction);
  if (reactions.size > 0) return;
  signal.removeEventListener('abort', listener);
  watches.delete(signal);
}

/** In the order they came. Each of them goes while it is told, which a set allows. */
function watch(signal: AbortSignal): Watch {
  const reactions = new Set<() => void>();
  const listener = (): void => {
    for (const reaction of reactions) reaction();
  };
  signal.addEventListener('abort', listener);
  watches.set(signal, { reactions, listener });
  return watches.get(signal)!;
}
