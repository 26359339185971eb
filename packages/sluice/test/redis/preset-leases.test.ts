/** `leases: leases()` on a real Redis: a hot key is spent in blocks, and never beyond its limit. */

import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLimiter, fixedWindow } from '../../src/index.ts';
import { leases } from '../../src/layers/index.ts';
import { redisStore } from '../../src/presets/ioredis.ts';
import { connectedTo } from './support/connected.ts';

const { servers } = connectedTo('redis');

test('one option turns leases on, and the limit holds', async () => {
  const client = new Redis((await servers.single()).port);
  const store = redisStore(client, { leases: leases(), deadline: false, denyCache: false, fallback: 'deny' });
  const limiter = createLimiter({ policy: fixedWindow({ limit: 20_000, window: '1d' }), store });
  const sources = new Set<string>();
  let admitted = 0;
  const hammer = async (): Promise<void> => {
    for (let n = 0; n < 500; n += 1) {
      const { allowed, source } = await limiter.attempt('hot');
      sources.add(source);
      if (allowed) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: 60 }, hammer));
  client.disconnect();
  expect([...sources].sort()).toContain('lease');
  expect(admitted).toBeLessThanOrEqual(20_000);
});
