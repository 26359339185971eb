/** `sluice/ioredis`: the store over ioredis (5 and later): a client, also one behind Sentinel, or a cluster. */
import type { Store } from '../../model/store.ts';
import { type RunScript, scriptRunner } from '../run-script.ts';
import { checkClient } from './check-client.ts';
import { type RedisOptions, redisStoreWith } from './preset.ts';

export type { RedisOptions } from './preset.ts';

/** What Sluice uses of an ioredis client. */
export interface IoredisClient {
  call(command: string, ...args: string[]): Promise<unknown>;
}

export function redisStore(client: IoredisClient, options: RedisOptions = {}): Store {
  const run = runScriptWith(client);
  return redisStoreWith(run, options, { most: 16, bySlot: 'isCluster' in client && client.isCluster === true });
}

/** How to run a script with this client. A cluster finds the keys among the arguments by itself. */
export function runScriptWith(client: IoredisClient): RunScript {
  checkClient(client, 'ioredis', 'a Redis or Cluster');
  return scriptRunner(([command = '', ...args]) => client.call(command, ...args));
}
