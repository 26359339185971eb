/** A real Memcached and a real etcd for tests, from PATH or from Debian's packages. Each keeps its files in a folder of its own. */

import { existsSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOST, isRunning, randomPort, spawnServer, stopper } from './launch.ts';
import { findProgram, type WantedProgram } from './programs.ts';
import { runProgram } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

export interface SmallServer {
  /** Major and minor. */
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

const MEMCACHED: WantedProgram = { name: 'memcached', packageName: 'memcached', trial: ['-V'] };
const ETCD: WantedProgram = { name: 'etcd', packageName: 'etcd-server', trial: ['--version'] };

export function startMemcached(): Promise<SmallServer> {
  // As root it wants to be told whom to become.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  return start(MEMCACHED, (port) => ['-p', String(port), '-l', HOST, '-U', '0', ...user]);
}

export function startEtcd(): Promise<SmallServer> {
  return start(ETCD, (port, folder) => {
    const client = `http://${HOST}:${port}`;
    const peer = `http://${HOST}:${port + 1}`;
    return [
      ...['--data-dir', join(folder, 'data'), '--name', 'only', '--log-level', 'error'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `only=${peer}`],
    ];
  });
}

const ATTEMPTS = 20;
/** In memory where the system has a place for that: etcd waits for the disk with every write, and cannot be told not to. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** On a port that was taken it ends, and the next one is tried. */
async function start(
  wanted: WantedProgram,
  argumentsFor: (port: number, folder: string) => string[],
): Promise<SmallServer> {
  const { file, env } = await findProgram(wanted);
  const [version = ''] = /\d+\.\d+/.exec(await runProgram(file, wanted.trial, env)) ?? [];
  for (let attempt = 1; ; attempt += 1) {
    const port = randomPort();
    const folder = await mkdtemp(join(FOLDER, `sluice-${wanted.name}-`));
    const logFile = join(folder, 'server.log');
    const child = spawnServer({ server: file, env }, argumentsFor(port, folder), folder, logFile);
    const stop = stopper(child, folder);
    await waitUntil(`${wanted.name} listens`, async () => !isRunning(child) || (await isListening(port)));
    if (isRunning(child)) return { version, host: HOST, port, url: `http://${HOST}:${port}`, stop };
    const log = await readFile(logFile, 'utf8');
    await stop();
    if (attempt === ATTEMPTS) throw new Error(`${wanted.name} did not start:\n${log}`);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
