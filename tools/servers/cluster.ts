/** A cluster on one machine. */

import { findServer, type ServerKind } from './binaries.ts';
import type { RunningServer } from './launch.ts';
import type { Address } from './resp.ts';
import { runProgram } from './run-program.ts';
import { LOST_AFTER_MS, startAll, startServer, stopAll } from './server.ts';
import { waitUntil } from './wait-until.ts';

export interface ClusterOptions {
  readonly kind: ServerKind;
  /** At least three, which is the least that a cluster can be made of. */
  readonly masters?: number;
  /** For each master. */
  readonly replicas?: number;
  /** When a node that says nothing is given up. */
  readonly lostAfterMs?: number;
}

export interface RunningCluster {
  readonly kind: ServerKind;
  /** The first `masters` of them begin as masters, the rest as replicas. */
  readonly nodes: readonly RunningServer[];
  readonly startupNodes: readonly Address[];
  stop(): Promise<void>;
}

export async function startCluster({
  kind,
  masters = 3,
  replicas = 1,
  lostAfterMs = LOST_AFTER_MS,
}: ClusterOptions): Promise<RunningCluster> {
  const count = masters * (1 + replicas);
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(lostAfterMs)];
  const nodes = await startAll(Array.from({ length: count }, () => startServer({ kind, args })));
  try {
    await join(kind, nodes, replicas);
    await waitUntil('every cluster node is ready', () => allReady(nodes, masters));
  } catch (error) {
    await stopAll(nodes);
    throw error;
  }
  const startupNodes = nodes.map(({ host, port }) => ({ host, port }));
  return { kind, nodes, startupNodes, stop: () => stopAll(nodes) };
}

async function join(kind: ServerKind, nodes: readonly RunningServer[], replicas: number): Promise<void> {
  const { cli, env } = await findServer(kind);
  const addresses = nodes.map(({ host, port }) => `${host}:${port}`);
  const options = ['--cluster-replicas', String(replicas), '--cluster-yes'];
  await runProgram(cli, ['--cluster', 'create', ...addresses, ...options], env);
}

async function allReady(nodes: readonly RunningServer[], masters: number): Promise<boolean> {
  const ready = await Promise.all(nodes.map((node, index) => isReady(node, index >= masters)));
  return ready.every(Boolean);
}

/** A replica is ready when it has its master's data: before that it could not take over. */
async function isReady(node: RunningServer, isReplica: boolean): Promise<boolean> {
  const state = String(await node.command('CLUSTER', 'INFO'));
  if (!state.includes('cluster_state:ok')) return false;
  return !isReplica || String(await node.command('INFO', 'replication')).includes('master_link_status:up');
}
