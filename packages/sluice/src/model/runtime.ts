/**
 * What the runtime offers beyond the web platform. Edge runtimes have a `process` as well, but in Next.js each of its functions throws
 * when it is called. Only a `process` that has a version of Node is used: that of Node, Bun and Deno.
 */

interface Process {
  readonly versions?: { readonly node?: string | undefined } | undefined;
  emitWarning?(warning: Error | string, options?: { readonly type: string; readonly code: string | undefined }): void;
  getBuiltinModule?(name: string): unknown;
}

function nodeProcess(): Process | undefined {
  const { process } = globalThis as { readonly process?: Process };
  return process?.versions?.node === undefined ? undefined : process;
}

/** Prints a warning: as one of the process in Node, Bun and Deno, and on the console elsewhere, as in workers and at the edge. */
export function emitWarning(warning: Error & { readonly code?: string }): void {
  const process = nodeProcess();
  if (process?.emitWarning === undefined) {
    console.warn(`${warning.name} [${warning.code}]: ${warning.message}`);
    return;
  }
  try {
    process.emitWarning(warning);
  } catch {
    // Jest runs tests in a realm of its own, and Node does not take its errors for errors: as text it takes them.
    process.emitWarning(warning.message, { type: warning.name, code: warning.code });
  }
}

/**
 * Whether this is Cloudflare's runtime. There, what one request began belongs to it: a timer ends with it, and another request that waits for its reply is
 * an error.
 */
export function isWorker(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}

/** A module of Node, without an import that bundlers for other runtimes would fail on. Undefined where there is none. */
export function nodeModule(name: string): unknown {
  return nodeProcess()?.getBuiltinModule?.(name);
}

/**
 * Runs a task when everything that has arrived was looked at. Only Node, Bun and Deno can say; elsewhere it is the next best moment. What else is called
 * `setImmediate` may throw when it is called, as in Next.js at the edge.
 */
export const atEndOfTurn: (task: () => void) => void =
  (nodeProcess() && (globalThis as { setImmediate?: (task: () => void) => void }).setImmediate) ?? queueMicrotask;
