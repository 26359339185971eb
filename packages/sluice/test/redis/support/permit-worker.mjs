/**
 * One of several processes that hold permits of one key. It uses the built package as an application would: it enters, holds for a while with its
 * heartbeat, releases, and says each time what it was told.
 *   in    { nodes, shape, key, prefix, limit, ttl }    once, and 'stop', which is answered with { stopped } when everything was released
 *   out   { entered: { id, at } }, { released: { id, at } } or { lost: { id, at } }; times are microseconds
 */
import { Cluster, Redis } from 'ioredis';
import { concurrency, createLimiter } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { decidedAt } from 'sluice/store';

let isStopping = false;

process.on('message', (message) => {
  if (message === 'stop') isStopping = true;
  else void work(message);
});
process.on('disconnect', () => process.exit());

async function work({ nodes, shape, key, prefix, limit, ttl }) {
  const client = shape === 'cluster' ? new Cluster(nodes) : new Redis(nodes[0].port, nodes[0].host);
  client.on('error', () => undefined);
  // A machine that is busy with other tests is no outage.
  const store = redisStore(client, { prefix, silence: '60s', deadline: '60s', fallback: false });
  const limiter = createLimiter({ policy: concurrency({ limit, ttl }), store });
  const lane = async () => {
    while (!isStopping) {
      const permit = await limiter.enter(key);
      if (!permit.allowed) {
        await pause(5);
        continue;
      }
      const [decision] = permit.result.decisions;
      const id = Math.round(decision.resetAt * 1e6);
      process.send({ entered: { id, at: decidedAt(decision) } });
      // Now and then for longer than a ttl, which only a heartbeat allows.
      await pause(Math.random() < 0.05 ? ttl * 1.2 : Math.random() * 40);
      // From here on it does not rely on its place any more.
      const at = Date.now() * 1000;
      // A machine that does not let a process run for a whole ttl takes its permits away, and the process knows.
      const message = permit.isHeld ? { released: { id, at } } : { lost: { id, at } };
      await permit.release();
      process.send(message);
    }
  };
  await Promise.all([lane(), lane()]);
  process.send({ stopped: true });
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.send({ ready: true });
