/** Straight on Redis, without a server: the same verbs, so the body and the answer are the API's. */
import { redisStore } from 'sluice/ioredis';
import { deadline, layered } from 'sluice/layers';
import { EMPTY_CONFIG } from '../config/config.ts';
import { toHttpError } from '../service/http-error.ts';
import { liveLimits } from '../service/live-limits.ts';
import { loadConfig } from '../service/load-config.ts';
import { Metrics } from '../service/metrics.ts';
import { enter, extend, release } from '../service/permits.ts';
import { connectClient, type RedisClient, redisClient } from '../service/redis-client.ts';
import {
  attempt,
  block,
  history,
  peek,
  penalize,
  refund,
  reserve,
  reset,
  settle,
  unblock,
  type Verb,
  type VerbContext,
} from '../service/verbs.ts';
import type { RedisTarget } from './redis-flags.ts';
import { OverError, type Terminal, UsageError } from './terminal.ts';

export const VERBS = {
  ...{ attempt, peek, reset, block, unblock, refund, penalize, history },
  ...{ enter, release, extend, reserve, settle },
} as const satisfies Readonly<Record<string, Verb>>;
export type VerbName = keyof typeof VERBS;

export type Ask = (verb: VerbName, body: object) => Promise<Record<string, unknown>>;

const TIMEOUT_MS = 5000;

/** No fallback: whoever asks Redis wants to hear Redis. `paths` is where policies have their names from. */
export function askRedis(target: RedisTarget, paths: readonly string[], { environment }: Terminal): Ask {
  return async (verb, body) => {
    const { config } = paths.length === 0 ? { config: EMPTY_CONFIG } : await loadConfig(paths, environment);
    return onRedis(target, async (client) => {
      const { prefix, hashKeys } = target;
      const bare = redisStore(client, { raw: true, prefix, hashKeys });
      const store = layered(bare, deadline({ timeout: TIMEOUT_MS }));
      const limits = liveLimits({ store }, new Metrics(), config);
      return (await asked(verb, body, { limits })) as Record<string, unknown>;
    });
  };
}

/** What a server would answer with 400 is what was typed wrongly. */
async function asked(verb: VerbName, body: object, context: VerbContext): Promise<object> {
  try {
    return await VERBS[verb](body, '', context);
  } catch (error) {
    const { status, message } = toHttpError(error);
    if (status === 409) throw new OverError(message);
    throw status === 400 || status === 404 ? new UsageError(message) : error;
  }
}

/** Connects, works, and leaves nothing open. */
export async function onRedis<T>(target: RedisTarget, work: (client: RedisClient) => Promise<T>): Promise<T> {
  const client = redisClient({ ...target, once: true });
  try {
    await connectClient(client);
    return await work(client);
  } finally {
    client.disconnect();
  }
}
