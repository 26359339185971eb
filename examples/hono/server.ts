/** Hono, here on Node; on Bun, Deno and workers only the last lines differ. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/hono';

const app = new Hono();

app.get('/health', (c) => c.text('ok')); // before the limit, so not limited

app.post('/login', rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) }), (c) =>
  c.json({ welcome: true }),
);

app.use(rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) }));

app.get('/', (c) => c.json({ left: c.get('rateLimit')?.remaining }));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
