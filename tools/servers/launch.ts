/**
 * Runs a server program on a port of its own, in a temporary folder of its own, for as long as this process lives.
 *
 * The port is chosen at random and nobody is asked whether it is free: between an answer and its use another process
 * could take it. A server that cannot bind says so and ends, and the next port is tried.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServer, type ServerBinaries, type ServerKind } from './binaries.ts';
import { type Reply, sendCommand } from './resp.ts';
import { waitUntil } from './wait-until.ts';

export interface RunningServer {
  readonly kind: ServerKind;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Ends the server at once, even a stopped (SIGSTOP) one, and resolves when it is gone. Can be called twice. */
  stop(): Promise<void>;
  /** One command on a connection of its own; an error reply is thrown. */
  command(...args: string[]): Promise<Reply>;
}

export interface Launch {
  readonly kind: ServerKind;
  /** A free one when left out. */
  readonly port?: number | undefined;
  /** What to start the server with; `folder` is empty, writable and deleted when the server stops. */
  argumentsFor(port: number, folder: string): Promise<string[]> | string[];
}

export const HOST = '127.0.0.1';

// Below the range from which systems take ports for outgoing connections, also after adding the 10000 that separate a
// cluster node's bus from its port, and without a port in this range being another one's bus.
const FIRST_PORT = 11_000;
const PORT_COUNT = 10_000;
const PORT_ATTEMPTS = 50;
const START_TIMEOUT_MS = 60_000;

class PortTakenError extends Error {}

export async function launch(plan: Launch): Promise<RunningServer> {
  const binaries = await findServer(plan.kind);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launchOnPort(plan, binaries, plan.port ?? randomPort());
    } catch (error) {
      const another = error instanceof PortTakenError && plan.port === undefined && attempt < PORT_ATTEMPTS;
      if (!another) throw error;
    }
  }
}

export function randomPort(): number {
  return FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
}

/** One that nobody listens on now, for a program that cannot say which one it got. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function launchOnPort(plan: Launch, binaries: ServerBinaries, port: number): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${plan.kind}-`));
  const logFile = join(folder, 'server.log');
  const child = spawnServer(binaries, await plan.argumentsFor(port, folder), folder, logFile);
  const stop = stopper(child, folder);
  try {
    await waitUntilAnswering(child, port);
  } catch (error) {
    const log = await readFile(logFile, 'utf8');
    await stop();
    if (log.includes('Address already in use')) throw new PortTakenError(`port ${port} is taken`);
    throw new Error(`${plan.kind}-server did not start on port ${port}:\n${log}`, { cause: error });
  }
  return describeServer(binaries, port, child, stop);
}

function describeServer(
  binaries: ServerBinaries,
  port: number,
  child: ChildProcess,
  stop: () => Promise<void>,
): RunningServer {
  return {
    kind: binaries.kind,
    version: binaries.version,
    host: HOST,
    port,
    url: `redis://${HOST}:${port}`,
    pid: child.pid!,
    process: child,
    stop,
    command: (...args) => sendCommand({ host: HOST, port }, args),
  };
}

export function spawnServer(
  binaries: Pick<ServerBinaries, 'server' | 'env'>,
  args: readonly string[],
  folder: string,
  logFile: string,
  /** Who it runs as, if it is not this user. */
  user: { readonly uid?: number; readonly gid?: number } = {},
): ChildProcess {
  const log = openSync(logFile, 'a');
  const env = { ...process.env, ...binaries.env };
  const child = spawn(binaries.server, args, { cwd: folder, env, stdio: ['ignore', log, log], ...user });
  closeSync(log);
  // A server that nobody stopped must not keep this process alive: the watchdog ends it afterwards.
  child.unref();
  child.on('error', () => undefined);
  if (child.pid !== undefined) watch(child, child.pid, folder);
  return child;
}

/**
 * A shell that waits for the end of its input. However this process ends, also by SIGKILL, the pipe closes, and the
 * shell ends the server and deletes its folder.
 */
function watch(server: ChildProcess, pid: number, folder: string): void {
  const script = 'read -r line; kill -9 "$1"; rm -rf "$2"';
  const args = ['-c', script, 'sh', String(pid), folder];
  // Detached, so that an interrupt typed at the terminal does not end the watchdog before its work.
  const watchdog = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watchdog.unref();
  (watchdog.stdin as unknown as { unref(): void }).unref();
  // Once the server is gone its number may become another process's, which must not be killed.
  server.once('exit', () => watchdog.kill('SIGKILL'));
}

/** Ends it at once and deletes its folder; resolves when both are gone. */
export function stopper(child: ChildProcess, folder: string): () => Promise<void> {
  const stop = async () => {
    await kill(child);
    await rm(folder, { recursive: true, force: true });
  };
  let stopped: Promise<void> | undefined;
  return () => {
    stopped ??= stop();
    return stopped;
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  child.ref();
  child.kill('SIGKILL');
  await gone;
}

export function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function waitUntilAnswering(child: ChildProcess, port: number): Promise<void> {
  const answersOrEnded = async () => !isRunning(child) || (await isAnsweredBy(child, port));
  await waitUntil('the server answers', answersOrEnded, START_TIMEOUT_MS);
  if (!isRunning(child)) throw new Error('the server ended');
}

/** On a port that was taken it is another server that answers, hence the comparison. */
async function isAnsweredBy(child: ChildProcess, port: number): Promise<boolean> {
  const info = await sendCommand({ host: HOST, port }, ['INFO', 'server'], 1_000);
  return String(info).includes(`process_id:${child.pid}\r\n`);
}
