/**
 * `sluice/node-redis`: the store over the `redis` package (node-redis 5 and later): a client, a pool, a cluster or a sentinel.
 * Each of them sends a command with other arguments, and says which of them it is only by what it offers.
 */
import type { SluiceError } from '../../model/errors.ts';
import type { Store } from '../../model/store.ts';
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { checkServer as checkServerOver } from '../server-check.ts';
import { checkClient } from './check-client.ts';
import { type RedisOptions, redisStoreWith } from './preset.ts';

export type { RedisOptions } from './preset.ts';

/** What Sluice uses of a node-redis client. */
export interface NodeRedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: the three kinds of client take three different lists of arguments.
  sendCommand(...args: any[]): Promise<unknown>;
}

export function redisStore(client: NodeRedisClient, options: RedisOptions = {}): Store {
  const run = runScriptWith(client);
  const bySlot = 'slots' in client;
  // A cluster's calls go to several servers by themselves.
  return redisStoreWith(run, options, { most: 32, bySlot, apart: !bySlot });
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: NodeRedisClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}

/** How to run a script with this client. */
export function runScriptWith(client: NodeRedisClient): RunScript {
  return scriptRunner(senderOf(client));
}

function senderOf(client: NodeRedisClient): SendCommand {
  checkClient(client, 'redis', 'a client, pool, cluster or sentinel');
  if ('slots' in client) return (words, key) => client.sendCommand(key, false, words);
  if ('getSentinelNode' in client) return (words) => client.sendCommand(false, words);
  return (words) => client.sendCommand(words);
}
