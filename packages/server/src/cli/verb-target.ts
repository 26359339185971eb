/** Where a verb of the command line is carried out: by a server, or straight on Redis. Either way the body and the answer are the API's. */
import { Redis } from 'ioredis';
import { redisStore } from 'sluice/ioredis';
import { deadline, layered } from 'sluice/layers';
import { EMPTY_CONFIG } from '../config/config.ts';
import { isFields } from '../config/fields.ts';
import { Holds } from '../service/holds.ts';
import { liveLimits } from '../service/live-limits.ts';
import { Metrics } from '../service/metrics.ts';
import { attempt, block, peek, reset, unblock, type Verb } from '../service/verbs.ts';
import { requireConfig } from './config-file.ts';

export const VERBS = { attempt, peek, reset, block, unblock } as const satisfies Readonly<Record<string, Verb>>;
export type VerbName = keyof typeof VERBS;

export type Ask = (verb: VerbName, body: object) => Promise<Record<string, unknown>>;

const TIMEOUT_MS = 5000;

export function askServer(server: string, token: string | undefined): Ask {
  return async (verb, body) => {
    const response = await fetch(new URL(`/v1/${verb}`, server), {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'Content-Type': 'application/json',
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: Error) => {
      throw new Error(`${server} does not answer: ${(error.cause as Error | undefined)?.message || error.message}`);
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!isFields(answer))
      throw new Error(`${server} answered ${response.status} with no JSON: is it a Sluice server?`);
    if (!response.ok) throw new Error(`${server} answered ${response.status}: ${answer.message ?? answer.error}`);
    return answer;
  };
}

export interface RedisTarget {
  readonly url: string;
  readonly prefix: string | undefined;
  /** Where policies have their names from. */
  readonly file: string | undefined;
}

/** No fallback: whoever asks Redis wants to hear Redis. */
export function askRedis({ url, prefix, file }: RedisTarget): Ask {
  return async (verb, body) => {
    const { config } = file === undefined ? { config: EMPTY_CONFIG } : await requireConfig(file);
    const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
    client.on('error', () => {});
    try {
      await client.connect();
      const bare = redisStore(client, { raw: true, ...(prefix === undefined ? {} : { prefix }) });
      const limits = liveLimits(layered(bare, deadline({ timeout: TIMEOUT_MS })), new Metrics(), config);
      const answer = await VERBS[verb](body, '', { limits, holds: new Holds(0) });
      return answer as Record<string, unknown>;
    } finally {
      client.disconnect();
    }
  };
}
