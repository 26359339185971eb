/** Limits on Upstash Redis, over HTTP: what a function at the edge can reach. UPSTASH_REDIS_REST_URL and _TOKEN say where. */
import { createServer } from 'node:http';
import { Redis } from '@upstash/redis';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/node';
import { upstashStore } from 'sluice/upstash';

const policy = tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' });
const home = rateLimit({ policy, store: upstashStore(Redis.fromEnv()) })((request, response) => {
  response.end(JSON.stringify({ left: request.rateLimit?.remaining }));
});

const server = createServer((request, response) => void home(request, response));
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
