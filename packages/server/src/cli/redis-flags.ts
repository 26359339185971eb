/** The flags that say where Redis is, for every command that goes there. */
import { parseRedisAddress } from '../service/redis-address.ts';
import type { RedisConnection } from '../service/redis-client.ts';
import { type Arguments, type Flags, fileOf } from './command.ts';
import { UsageError } from './terminal.ts';

export const REDIS_FLAGS = {
  redis: { type: 'string', variable: 'SLUICE_REDIS' },
  'redis-password': { type: 'string', variable: 'SLUICE_REDIS_PASSWORD' },
  'redis-sentinel-password': { type: 'string', variable: 'SLUICE_REDIS_SENTINEL_PASSWORD' },
  'redis-ca': { type: 'string', isFile: true, variable: 'SLUICE_REDIS_CA' },
  'redis-cert': { type: 'string', isFile: true, variable: 'SLUICE_REDIS_CERT' },
  'redis-key': { type: 'string', isFile: true, variable: 'SLUICE_REDIS_KEY' },
  prefix: { type: 'string', variable: 'SLUICE_PREFIX' },
  'hash-keys': { type: 'boolean', variable: 'SLUICE_HASH_KEYS' },
} as const satisfies Flags;

export const REDIS_HELP = `  --redis-password, --redis-sentinel-password   instead of one in the address (SLUICE_REDIS_PASSWORD, ...)
  --redis-ca, --redis-cert, --redis-key         PEM files for rediss:// (SLUICE_REDIS_CA, ...)
  --prefix TEXT       the prefix of every key on Redis; sluice by default (SLUICE_PREFIX)
  --hash-keys         Redis holds a SHA-256 of each key instead of the key (SLUICE_HASH_KEYS)`;

export interface RedisTarget extends RedisConnection {
  readonly prefix: string | undefined;
  readonly hashKeys: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where Redis is, and who says so. SLUICE_REDIS comes before REDIS_URL, which many other programs read too. */
function addressIn(flags: Arguments, environment: Environment): { redis: string; saidBy: string } | undefined {
  const own = flags.text('redis');
  if (own !== undefined) return { redis: own, saidBy: '--redis' };
  const { REDIS_URL } = environment;
  return REDIS_URL === undefined || REDIS_URL === '' ? undefined : { redis: REDIS_URL, saidBy: 'REDIS_URL' };
}

/** Undefined without an address, and for the word `memory`. */
export async function redisTarget(flags: Arguments, environment: Environment): Promise<RedisTarget | undefined> {
  const { redis, saidBy } = addressIn(flags, environment) ?? {};
  if (redis === undefined || redis === 'memory') return undefined;
  try {
    parseRedisAddress(redis);
  } catch (error) {
    throw new UsageError(`${saidBy}: ${(error as Error).message}`);
  }
  const [tlsCa, tlsCert, tlsKey] = await Promise.all(
    ['redis-ca', 'redis-cert', 'redis-key'].map((flag) => fileOf(flags, flag)),
  );
  return {
    ...{ redis, tlsCa, tlsCert, tlsKey },
    redisPassword: flags.text('redis-password'),
    sentinelPassword: flags.text('redis-sentinel-password'),
    prefix: flags.text('prefix'),
    hashKeys: flags.has('hash-keys'),
  };
}
