/** A connection over ioredis (5 and later): a client, also one behind Sentinel, or a cluster. */
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { slotOf } from '../slot.ts';
import { checkClient } from './check-client.ts';
import { watchOf } from './client-watch.ts';
import type { Connection } from './connection.ts';

/** What Sluice uses of an ioredis client. */
export interface IoredisClient {
  call(command: string, ...args: string[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: a command of its own class, which is not imported.
  sendCommand?(command: any, ...rest: any[]): unknown;
}

/** How to run a script with this client. A cluster finds the keys among the arguments by itself. */
export function runScriptWith(client: IoredisClient): RunScript {
  return scriptRunner(senderOf(client));
}

/** What ioredis tells of itself. */
interface Internals {
  readonly status?: string;
  readonly isCluster?: boolean;
  /** Of a cluster: the addresses of the servers of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
}

export function connectionOf(client: IoredisClient): Connection {
  const send = senderOf(client);
  const internals = client as Internals;
  const isCluster = internals.isCluster === true;
  const watch = watchOf(client);
  let wasReady = false;
  return {
    client,
    send,
    batches: { most: 16, bySlot: isCluster },
    isConnecting() {
      wasReady ||= internals.status === 'ready';
      return !wasReady && watch.mayConnect && internals.status !== 'end';
    },
    nodeOf: isCluster ? (key) => internals.slots?.[slotOf(key)]?.[0] ?? '' : () => '',
    canWait: !isCluster,
  };
}

export function senderOf(client: IoredisClient): SendCommand {
  checkClient(client, 'ioredis', 'a Redis or Cluster');
  const once = sendingOnce(client);
  const { call } = once;
  return (words) => call.apply(once, words as [string, ...string[]]);
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
