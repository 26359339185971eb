/**
 * Everything that limits through Redis. `open` gets a connection of its own with default options and returns the check: one
 * awaited attempt for a key, which resolves for "yes" and for "no" alike.
 */
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { createLimiter } from 'sluice';
import { CLIENTS } from './clients.mjs';
import { floorContenders } from './floors.mjs';
import { ALGORITHMS, COMPARED_WITH_TEXTBOOK, DAY_MS, DAY_SECONDS, policyOf } from './policies.mjs';
import { textbookContenders } from './textbook.mjs';
import { upstashContender } from './upstash.mjs';

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

/** More than are ever in flight, so that each attempt is alone in its store and none are sent together. */
const UNBATCHED_STORES = 1024;

/** What one script call for one attempt costs, when the server has a full pipeline to read and no wake-ups to pay. */
export function unbatchedContender(algorithm) {
  return {
    name: `Sluice ${algorithm}, unbatched`,
    kind: 'sluice',
    unbatched: algorithm,
    open({ client, connection, limit }) {
      const policy = policyOf(algorithm, { limit });
      const limiters = Array.from({ length: UNBATCHED_STORES }, () =>
        createLimiter({ policy, store: CLIENTS[client].store(connection) }),
      );
      let next = 0;
      return (key) => {
        next = (next + 1) % UNBATCHED_STORES;
        return limiters[next].attempt(key);
      };
    },
  };
}

/** Its "no" is a rejection with an answer in it, which is no failure. */
export const answerOf = (rejection) => {
  if (rejection instanceof RateLimiterRes) return rejection;
  throw rejection;
};

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
    return (key) => limiter.consume(key).catch(answerOf);
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
  ...COMPARED_WITH_TEXTBOOK.map(unbatchedContender),
  flexible,
  expressStore,
  upstashContender,
  ...textbookContenders,
  ...floorContenders,
];

export const redisContender = (name) => redisContenders.find((contender) => contender.name === name);
