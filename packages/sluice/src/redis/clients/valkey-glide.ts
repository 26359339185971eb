/** A connection over @valkey/valkey-glide (2 and later): a GlideClient or a GlideClusterClient. */
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { slotOf } from '../slot.ts';
import { checkClient } from './check-client.ts';
import type { Connection } from './connection.ts';

/** What Sluice uses of a GLIDE client. */
export interface ValkeyGlideClient {
  // biome-ignore lint/suspicious/noExplicitAny: a cluster client also takes a route, a single one does not.
  customCommand(words: string[], options?: any): Promise<unknown>;
}

/** How to run a script with this client. */
export function runScriptWith(client: ValkeyGlideClient): RunScript {
  return scriptRunner(senderOf(client));
}

/** GLIDE does not say which server owns a slot, so each slot of a cluster is one of its own. */
export function connectionOf(client: ValkeyGlideClient): Connection {
  const send = senderOf(client);
  const bySlot = isCluster(client);
  return {
    client,
    send,
    batches: { most: 64, bySlot },
    isConnecting: () => false,
    nodeOf: bySlot ? (key) => String(slotOf(key)) : () => '',
    canWait: true,
  };
}

/** A cluster client is told which node, because it does not know the keys of a custom command. */
export function senderOf(client: ValkeyGlideClient): SendCommand {
  checkClient(client, '@valkey/valkey-glide', 'a GlideClient or GlideClusterClient');
  if (!isCluster(client)) return (words) => client.customCommand(words);
  return (words, key) => client.customCommand(words, { route: { type: 'primarySlotKey', key } });
}

/** Only a cluster client can be told where to run a function. */
function isCluster(client: ValkeyGlideClient): boolean {
  return 'fcallWithRoute' in client;
}
