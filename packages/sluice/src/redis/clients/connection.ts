/** What a store needs of a client, whatever package it is of. Each client has a file that makes one of these. */
import type { BatchOptions } from '../batch.ts';
import type { SendCommand } from '../run-script.ts';

export interface Connection {
  /** The client itself: stores over the same one share what they know of it. */
  readonly client: object;
  readonly send: SendCommand;
  readonly batches: BatchOptions;
  /** Whether the client has never been connected and is about to be. */
  isConnecting(): boolean;
  /** Which server owns a key; the same text for all where there is one. */
  nodeOf(key: string): string;
  /** Whether a command without a key can be sent to the server that owns one: needed for `WAIT`. */
  readonly canWait: boolean;
}
