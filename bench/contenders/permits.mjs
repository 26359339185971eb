/** What holds places on Redis, on ioredis, as the README of each shows it: a place is taken and given back. */
import { Semaphore } from 'redis-semaphore';
import { sluice } from '../library.mjs';
import { CLIENTS } from './clients.mjs';

const { concurrency, createLimiter } = await sluice();

export const SEMAPHORE = 'redis-semaphore';
export const OWN = 'Sluice concurrency';

const TTL_MS = 10_000;

export const permitContenders = [
  {
    name: OWN,
    open(connection, limit) {
      const limiter = createLimiter({
        policy: concurrency({ limit, ttl: TTL_MS, name: 'bench' }),
        store: CLIENTS.ioredis.store(connection),
      });
      return async (key) => {
        const permit = await limiter.enter(key);
        if (!permit.allowed || permit.result.source !== 'store') throw new Error('a place should have been free');
        return () => permit.release();
      };
    },
  },
  {
    name: SEMAPHORE,
    open(connection, limit) {
      return async (key) => {
        const semaphore = new Semaphore(connection, key, limit, { lockTimeout: TTL_MS });
        await semaphore.acquire();
        return () => semaphore.release();
      };
    },
  },
];
