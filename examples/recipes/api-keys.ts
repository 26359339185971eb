import { Hono } from 'hono';
import { memoryStore, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/hono';

/** In your application: a table, by the hash of the key. */
const KEYS = new Map([['sk-ada', { id: 'ada' }]]);

interface Env {
  Variables: { customer: { id: string } };
}
const app = new Hono<Env>();

// Check the key first: a limit by a header that nobody checked is no limit.
app.use(async (c, next) => {
  const customer = KEYS.get(c.req.header('x-api-key') ?? '');
  if (customer === undefined) return c.json({ error: 'unknown API key' }, 401);
  c.set('customer', customer);
  return next();
});
app.use(
  rateLimit<Env>({
    policy: tokenBucket({ name: 'api', capacity: 3, refillRate: '1/m' }),
    store: memoryStore(), // redisStore(client) for several processes
    key: ({ native }) => `customer:${native.get('customer').id}`,
  }),
);
app.get('/reports', (c) => c.json({ left: c.get('rateLimit')?.remaining }));

const ask = async (key: string) => {
  const response = await app.request('/reports', { headers: { 'x-api-key': key } });
  return `${response.status} ${response.headers.get('ratelimit') ?? ''}`.trim();
};
console.log('wrong key:', await ask('sk-guess'));
for (let time = 0; time < 4; time++) console.log('ada:', (await ask('sk-ada')).replace(/;t=\d+/, ''));
