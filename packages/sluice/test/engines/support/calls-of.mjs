import { createLimiter, tokenBucket } from 'sluice';

/** `calls` is where the client of the store notes them. */
export async function callsOf(store, calls) {
  const limiter = createLimiter({ policy: tokenBucket({ name: 'calls', capacity: 1, refillRate: '1/d' }), store });
  const during = async (key) => {
    calls.length = 0;
    const { allowed, source } = await limiter.attempt(key);
    if (source !== 'store') throw new Error(`${source} has answered`);
    return [allowed, calls.length];
  };
  // Connections are made, tables looked up and scripts taught by the first ones: of every shard, so several keys.
  for (let warm = 0; warm < 32; warm += 1) await during(`warm ${warm % 16}`);
  const key = `calls ${Math.random()}`;
  const [isAllowed, allow] = await during(key);
  const [isAllowedAgain, deny] = await during(key);
  if (!isAllowed || isAllowedAgain) throw new Error('one should be allowed, and one denied');
  return { allow, deny };
}
