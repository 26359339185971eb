/** A single server that keeps nothing on disk. */

import type { ServerKind } from './binaries.ts';
import { HOST, launch, type RunningServer } from './launch.ts';

export interface ServerOptions {
  readonly kind: ServerKind;
  /** A free one when left out; for bringing a killed server back to where its clients look for it. */
  readonly port?: number;
  /** Added to the command line, for example `['--maxmemory', '10mb']`. */
  readonly args?: readonly string[];
}

/** Long, because a server that waits for its turn on a busy machine is not lost. Who waits for a failover asks for less. */
export const LOST_AFTER_MS = 30_000;

export function startServer({ kind, port, args = [] }: ServerOptions): Promise<RunningServer> {
  return launch({ kind, port, argumentsFor: (ownPort) => [...baseArguments(ownPort), ...args] });
}

function baseArguments(port: number): string[] {
  return [
    ...['--port', String(port), '--bind', HOST],
    ...['--save', '', '--appendonly', 'no'],
    // DEBUG SLEEP is one of the faults that tests put in.
    ...['--enable-debug-command', 'local'],
    // A replica would otherwise wait five seconds for others to share its first copy with.
    ...['--repl-diskless-sync-delay', '0'],
  ];
}

export async function stopAll(servers: readonly RunningServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}

/** All of them or none: when one does not start, the others are stopped. */
export async function startAll(starts: readonly Promise<RunningServer>[]): Promise<RunningServer[]> {
  const results = await Promise.allSettled(starts);
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure === undefined) return started;
  await stopAll(started);
  throw failure.reason;
}
