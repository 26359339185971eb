/**
 * Everything that limits through Redis. `open` gets a connection of its own with default options and returns the check: one attempt for a
 * key, as the README of each shows it, with no promise around its own.
 */
import { RedisStore } from 'rate-limit-redis';
import rateLimiterFlexible from 'rate-limiter-flexible';
import { sluice } from '../library.mjs';
import { CLIENTS } from './clients.mjs';
import { floorContenders } from './floors.mjs';
import { ALGORITHMS, DAY_MS, DAY_SECONDS, policyOf } from './policies.mjs';
import { textbookContenders } from './textbook.mjs';
import { upstashContender } from './upstash.mjs';

const { createLimiter } = await sluice();
const { RateLimiterRedis } = rateLimiterFlexible;

export const BASELINE = 'rate-limiter-flexible';

export function sluiceContender(algorithm) {
  return {
    name: `Sluice ${algorithm}`,
    kind: 'sluice',
    algorithm,
    open({ client, connection, limit, windowMs = DAY_MS, cost = 1 }) {
      const store = CLIENTS[client].store(connection);
      const limiter = createLimiter({ policy: policyOf(algorithm, { limit, windowMs }), store });
      return cost === 1 ? (key) => limiter.attempt(key) : (key) => limiter.attempt(key, { cost });
    },
  };
}

/** Without its layers: what the scripts and the batches cost. */
export const bareContender = (algorithm) => ({
  name: `Sluice ${algorithm}, bare`,
  algorithm: undefined,
  open({ client, connection, limit }) {
    const limiter = createLimiter({
      policy: policyOf(algorithm, { limit }),
      store: CLIENTS[client].bareStore(connection),
    });
    return (key) => limiter.attempt(key);
  },
});

const flexible = {
  name: BASELINE,
  kind: 'peer',
  open({ client, connection, limit }) {
    const useRedisPackage = client === 'node-redis';
    const limiter = new RateLimiterRedis({
      storeClient: connection,
      points: limit,
      duration: DAY_SECONDS,
      useRedisPackage,
    });
    return (key) => limiter.consume(key);
  },
};

const expressStore = {
  name: 'rate-limit-redis',
  kind: 'peer',
  async open({ client, connection }) {
    const { command } = CLIENTS[client];
    const store = new RedisStore({ sendCommand: (...words) => command(connection, ...words) });
    await store.init({ windowMs: DAY_MS });
    return (key) => store.increment(key);
  },
};

export const redisContenders = [
  ...ALGORITHMS.map(sluiceContender),
  bareContender('gcra'),
  flexible,
  expressStore,
  upstashContender,
  ...textbookContenders,
  ...floorContenders,
];

export const redisContender = (name) => redisContenders.find((contender) => contender.name === name);
