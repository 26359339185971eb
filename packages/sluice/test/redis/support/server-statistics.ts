/** What the server itself counts: the one witness that no client and no test can talk into anything. */
import type { RunningServer } from '../../../../../tools/servers/index.ts';
import type { Servers, Shape } from './topologies.ts';

export type CommandCounts = Readonly<Record<string, number>>;

/** How often each command ran while `work` did, inside scripts too, on all these servers together. The questions are left out. */
export async function commandsDuring(
  servers: readonly RunningServer[],
  work: () => Promise<unknown>,
): Promise<CommandCounts> {
  await Promise.all(servers.map((server) => server.command('CONFIG', 'RESETSTAT')));
  await work();
  const sum: Record<string, number> = {};
  for (const text of await Promise.all(servers.map((server) => server.command('INFO', 'commandstats')))) {
    for (const [, command = '', calls] of String(text).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
      if (command !== 'config|resetstat') sum[command] = (sum[command] ?? 0) + Number(calls);
    }
  }
  return sum;
}

/** Changes of the data since the server started: Redis counts one for each key that a command wrote, and nothing else. */
export async function changesOf(server: RunningServer): Promise<number> {
  return numberIn(await server.command('INFO', 'persistence'), 'rdb_changes_since_last_save');
}

/** Bytes sent to replicas so far. */
export async function replicatedBytes(server: RunningServer): Promise<number> {
  return numberIn(await server.command('INFO', 'replication'), 'master_repl_offset');
}

function numberIn(info: unknown, field: string): number {
  const [, digits] = new RegExp(`^${field}:(\\d+)`, 'm').exec(String(info)) ?? [];
  if (digits === undefined) throw new Error(`the server says nothing about ${field}`);
  return Number(digits);
}

/** Every server that holds data. */
export async function nodesOf(servers: Servers, shape: Shape): Promise<readonly RunningServer[]> {
  switch (shape) {
    case 'single':
      return [await servers.single()];
    case 'cluster':
      return (await servers.cluster()).nodes;
    case 'sentinel': {
      const { master, replica } = await servers.sentinel();
      return [master, replica];
    }
  }
}
