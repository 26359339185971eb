/**
 * A connection over the `redis` package (node-redis 5 and later): a client, a pool, a cluster or a sentinel.
 * Each of them sends a command with other arguments, and says which of them it is only by what it offers.
 */
import { mistaken, type SluiceError } from '../../model/errors.ts';
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { slotOf } from '../slot.ts';
import { checkClient } from './check-client.ts';
import { watchOf } from './client-watch.ts';
import type { Connection } from './connection.ts';

/** What Sluice uses of a node-redis client. */
export interface NodeRedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: the three kinds of client take three different lists of arguments.
  sendCommand(...args: any[]): Promise<unknown>;
}

/** How to run a script with this client. */
export function runScriptWith(client: NodeRedisClient): RunScript {
  return scriptRunner(senderOf(client));
}

/** What node-redis tells of itself. */
interface Internals {
  readonly isOpen?: boolean;
  readonly isReady?: boolean;
  /** Of a cluster. */
  readonly slots?: readonly ({ readonly master?: { readonly address?: string } } | undefined)[];
}

export function connectionOf(client: NodeRedisClient): Connection {
  const send = senderOf(client);
  const internals = client as Internals;
  const isCluster = 'slots' in client;
  const watch = watchOf(client);
  let wasReady = false;
  return {
    client,
    send,
    // A cluster's calls go to several servers by themselves.
    batches: { most: 32, bySlot: isCluster, apart: !isCluster },
    isConnecting() {
      wasReady ||= internals.isReady === true;
      return !wasReady && internals.isOpen === true && watch.mayConnect;
    },
    nodeOf: isCluster ? (key) => internals.slots?.[slotOf(key)]?.master?.address ?? '' : () => '',
    canWait: true,
  };
}

export function senderOf(client: NodeRedisClient): SendCommand {
  checkClient(client, 'redis', 'a client, pool, cluster or sentinel');
  const send = rawSenderOf(client);
  let wasOpen = false;
  return async (words, key) => {
    wasOpen ||= (client as Internals).isOpen !== false;
    if (!wasOpen) throw neverConnected();
    return send(words, key);
  };
}

function rawSenderOf(client: NodeRedisClient): SendCommand {
  if ('slots' in client) return (words, key) => client.sendCommand(key, false, words);
  if ('getSentinelNode' in client) return (words) => client.sendCommand(false, words);
  return (words) => client.sendCommand(words);
}

/** No waiting mends it. */
function neverConnected(): SluiceError {
  return mistaken(
    'SLUICE_INVALID_CLIENT',
    'redisStore(client)',
    'The Redis client was never connected. Call `await client.connect()` before the first attempt.',
  );
}
