/** `sluice/ioredis`: the store over ioredis (5 and later): a client, also one behind Sentinel, or a cluster. */
import type { SluiceError } from '../../model/errors.ts';
import type { Store } from '../../model/store.ts';
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { checkServer as checkServerOver } from '../server-check.ts';
import { checkClient } from './check-client.ts';
import { type RedisOptions, redisStoreWith } from './preset.ts';

export type { RedisOptions } from './preset.ts';

/** What Sluice uses of an ioredis client. */
export interface IoredisClient {
  call(command: string, ...args: string[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: a command of its own class, which is not imported.
  sendCommand?(command: any, ...rest: any[]): unknown;
}

export function redisStore(client: IoredisClient, options: RedisOptions = {}): Store {
  const run = runScriptWith(client);
  return redisStoreWith(run, options, { most: 16, bySlot: 'isCluster' in client && client.isCluster === true });
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: IoredisClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}

/** How to run a script with this client. A cluster finds the keys among the arguments by itself. */
export function runScriptWith(client: IoredisClient): RunScript {
  return scriptRunner(senderOf(client));
}

function senderOf(client: IoredisClient): SendCommand {
  checkClient(client, 'ioredis', 'a Redis or Cluster');
  const once = sendingOnce(client);
  return ([command = '', ...args]) => once.call(command, ...args);
}

/**
 * When a connection is lost, ioredis sends the commands that were on their way again over the next one. A script may have been carried
 * out and have lost only its reply: it would be spent twice. What ioredis does not send again but rejects is a piece of a pipeline
 * whose beginning is gone, so that is what each command is marked as.
 */
function sendingOnce(client: IoredisClient): IoredisClient {
  if (typeof client.sendCommand !== 'function') return client;
  return Object.create(client, {
    sendCommand: {
      value(command: { pipelineIndex?: number }, ...rest: unknown[]): unknown {
        command.pipelineIndex = NO_PLACE_IN_A_PIPELINE;
        return client.sendCommand!(command, ...rest);
      },
    },
    // Not into a pipeline that ioredis puts together by itself, with commands of others: there the mark would be overwritten.
    isPipeline: { value: true },
  });
}

const NO_PLACE_IN_A_PIPELINE = -1;
