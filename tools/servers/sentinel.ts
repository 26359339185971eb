/** One master, one replica, and sentinels that make the replica the master when the master is lost. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerKind } from './binaries.ts';
import { HOST, launch, type RunningServer } from './launch.ts';
import type { Address } from './resp.ts';
import { LOST_AFTER_MS, startAll, startServer, stopAll } from './server.ts';
import { waitUntil } from './wait-until.ts';

export interface SentinelOptions {
  readonly kind: ServerKind;
  readonly sentinels?: number;
  /** When a master that says nothing is given up. */
  readonly lostAfterMs?: number;
}

export interface RunningSentinel {
  readonly kind: ServerKind;
  readonly masterName: string;
  readonly sentinels: readonly Address[];
  /** The one that began as master; after a failover `replica` is the master. */
  readonly master: RunningServer;
  readonly replica: RunningServer;
  stop(): Promise<void>;
}

const MASTER_NAME = 'sluice';

export async function startSentinel({
  kind,
  sentinels: count = 1,
  lostAfterMs = LOST_AFTER_MS,
}: SentinelOptions): Promise<RunningSentinel> {
  const running: RunningServer[] = [];
  try {
    const master = await startServer({ kind });
    running.push(master);
    const replica = await startServer({ kind, args: ['--replicaof', `${master.host} ${master.port}`] });
    running.push(replica);
    await waitUntil('the replica has its data', () => isInStep(replica));
    const configure = (port: number) =>
      sentinelConfiguration({ port, master, quorum: Math.floor(count / 2) + 1, lostAfterMs });
    const sentinels = await startAll(Array.from({ length: count }, () => startOneSentinel(kind, configure)));
    running.push(...sentinels);
    await waitUntil('every sentinel knows the others', () => allKnow(sentinels, master, replica));
    const addresses = sentinels.map(({ host, port }) => ({ host, port }));
    return { kind, masterName: MASTER_NAME, sentinels: addresses, master, replica, stop: () => stopAll(running) };
  } catch (error) {
    await stopAll(running);
    throw error;
  }
}

/** To be true before a sentinel looks, since a sentinel looks for replicas only every ten seconds. */
async function isInStep(replica: RunningServer): Promise<boolean> {
  return String(await replica.command('INFO', 'replication')).includes('master_link_status:up');
}

function startOneSentinel(kind: ServerKind, configure: (port: number) => string): Promise<RunningServer> {
  return launch({
    kind,
    argumentsFor: async (port, folder) => {
      // A sentinel rewrites its configuration as it learns, so it insists on a file.
      const file = join(folder, 'sentinel.conf');
      await writeFile(file, configure(port));
      return [file, '--sentinel'];
    },
  });
}

interface Configuration {
  readonly port: number;
  readonly master: RunningServer;
  readonly quorum: number;
  readonly lostAfterMs: number;
}

function sentinelConfiguration({ port, master, quorum, lostAfterMs }: Configuration): string {
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `sentinel monitor ${MASTER_NAME} ${master.host} ${master.port} ${quorum}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${lostAfterMs}`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
  ];
  return `${lines.join('\n')}\n`;
}

async function allKnow(
  sentinels: readonly RunningServer[],
  master: RunningServer,
  replica: RunningServer,
): Promise<boolean> {
  const peerCount = sentinels.length - 1;
  const answers = await Promise.all(sentinels.map((sentinel) => knows(sentinel, master, replica, peerCount)));
  return answers.every(Boolean);
}

async function knows(
  sentinel: RunningServer,
  master: RunningServer,
  replica: RunningServer,
  peerCount: number,
): Promise<boolean> {
  const address = await sentinel.command('SENTINEL', 'get-master-addr-by-name', MASTER_NAME);
  const replicas = await sentinel.command('SENTINEL', 'replicas', MASTER_NAME);
  const peers = await sentinel.command('SENTINEL', 'sentinels', MASTER_NAME);
  return (
    String(address) === `${master.host},${master.port}` &&
    String(replicas).includes(`name,${replica.host}:${replica.port},`) &&
    Array.isArray(peers) &&
    peers.length === peerCount
  );
}
