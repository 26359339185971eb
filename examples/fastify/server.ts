/** Fastify 5. The plugin limits every route; a route says what is different about it. */
import { fastify } from 'fastify';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/fastify';

const app = fastify();

await app.register(rateLimit, { policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) });

app.get('/health', { config: { rateLimit: false } }, async () => 'ok');

app.post(
  '/login',
  { config: { rateLimit: { policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) } } },
  async () => ({ welcome: true }),
);

app.get('/', async (request) => ({ left: request.rateLimit?.remaining }));

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
