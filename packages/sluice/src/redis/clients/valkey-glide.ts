/** `sluice/valkey-glide`: the store over @valkey/valkey-glide (2 and later): a GlideClient or a GlideClusterClient. */
import type { SluiceError } from '../../model/errors.ts';
import type { Store } from '../../model/store.ts';
import { type RunScript, type SendCommand, scriptRunner } from '../run-script.ts';
import { checkServer as checkServerOver } from '../server-check.ts';
import { checkClient } from './check-client.ts';
import { type RedisOptions, redisStoreWith } from './preset.ts';

export type { RedisOptions } from './preset.ts';

/** What Sluice uses of a GLIDE client. */
export interface ValkeyGlideClient {
  // biome-ignore lint/suspicious/noExplicitAny: a cluster client also takes a route, a single one does not.
  customCommand(words: string[], options?: any): Promise<unknown>;
}

export function redisStore(client: ValkeyGlideClient, options: RedisOptions = {}): Store {
  const run = runScriptWith(client);
  return redisStoreWith(run, options, { most: 64, bySlot: isCluster(client) });
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: ValkeyGlideClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}

/** How to run a script with this client. */
export function runScriptWith(client: ValkeyGlideClient): RunScript {
  return scriptRunner(senderOf(client));
}

/** A cluster client is told which node, because it does not know the keys of a custom command. */
function senderOf(client: ValkeyGlideClient): SendCommand {
  checkClient(client, '@valkey/valkey-glide', 'a GlideClient or GlideClusterClient');
  if (!isCluster(client)) return (words) => client.customCommand(words);
  return (words, key) => client.customCommand(words, { route: { type: 'primarySlotKey', key } });
}

/** Only a cluster client can be told where to run a function. */
function isCluster(client: ValkeyGlideClient): boolean {
  return 'fcallWithRoute' in client;
}
