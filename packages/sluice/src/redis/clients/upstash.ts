/**
 * A connection over @upstash/redis, which talks HTTP. It is asked below its own retries and pipelines: it would send a script again whose reply was
 * lost, which may have been carried out and would be spent twice; and attempts of one turn share a script call already.
 */
import { Kind, wrong } from '../../model/errors.ts';
import type { SendCommand } from '../run-script.ts';
import type { Connection } from './connection.ts';

/** What Sluice uses of `Redis` of @upstash/redis. */
export interface UpstashClient {
  // biome-ignore lint/suspicious/noExplicitAny: the package has its own types of arguments and replies.
  evalsha(sha1: string, keys: string[], args: any): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  eval(script: string, keys: string[], args: any): Promise<any>;
}

/** What sends requests in it. */
interface HttpClient {
  readonly retry: unknown;
  request(request: { body: readonly string[] }): Promise<{ readonly result?: unknown; readonly error?: string }>;
}

export function connectionOf(client: UpstashClient): Connection {
  if (typeof client?.evalsha !== 'function' || typeof client.eval !== 'function') {
    throw wrong(
      'SLUICE_INVALID_CLIENT',
      'upstashStore(client)',
      'a Redis of the @upstash/redis package',
      Kind.of(client),
    );
  }
  return {
    client,
    send: senderOf(client),
    // A request over HTTP costs far more than a script: as few of them as can be.
    batches: { most: 128, bySlot: false },
    isConnecting: () => false,
    nodeOf: () => '',
    canWait: false,
  };
}

function senderOf(client: UpstashClient): SendCommand {
  const { client: http } = client as { readonly client?: HttpClient };
  if (typeof http?.request !== 'function') return (words) => byMethods(client, words);
  const once: HttpClient = Object.create(http, { retry: { value: { attempts: 0, backoff: () => 0 } } });
  return async (words) => {
    try {
      const { result, error } = await once.request({ body: words });
      if (error !== undefined) throw new Error(error);
      return result;
    } catch (error) {
      throw withoutCommand(error);
    }
  };
}

/** For versions that are made otherwise. */
function byMethods(client: UpstashClient, [command, script, count, ...rest]: readonly string[]): Promise<unknown> {
  const keys = rest.slice(0, Number(count));
  const args = rest.slice(Number(count));
  return command === 'EVALSHA' ? client.evalsha(script!, keys, args) : client.eval(script!, keys, args);
}

/** An error quotes the whole command, with its keys, behind what the server said: nothing in there is for readers, or tells what went wrong. */
function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const end = error.message.indexOf(', command was:');
  // `fetch failed` says nothing, its cause does.
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return new Error(end < 0 ? error.message + cause : error.message.slice(0, end), { cause: error });
}
