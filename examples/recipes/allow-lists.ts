import express from 'express';
import { createLimiter, memoryStore, slidingWindowCounter } from 'sluice';
import { sharedExceptions } from 'sluice/exceptions';
import { rateLimit } from 'sluice/express';

// With `port: redisExceptions(...)` all processes share the list, and see a change within a second.
const exceptions = sharedExceptions();
await exceptions.exempt({ network: '10.0.0.0/8' }, { reason: 'our own monitoring' });
await exceptions.deny({ network: '203.0.113.0/24' }, { for: '1d', reason: 'scraping' });

const limiter = createLimiter({
  policy: slidingWindowCounter({ name: 'api', limit: 2, window: '1m' }),
  store: memoryStore(), // redisStore(client) for several processes
  exceptions,
});

const app = express();
app.set('trust proxy', 1);
app.use(rateLimit({ limiter, skip: ({ path }) => path === '/health' })); // a route that is never limited
app.get('/{*path}', (_request, response) => void response.send('ok'));

const server = app.listen(0);
const { port } = server.address() as { port: number };
const ask = async (address: string, path = '/') => {
  const headers = { 'x-forwarded-for': address };
  return (await fetch(`http://localhost:${port}${path}`, { headers })).status;
};
for (let time = 0; time < 3; time++) console.log('a client', await ask('198.51.100.1'));
console.log('its health check', await ask('198.51.100.1', '/health'));
for (let time = 0; time < 3; time++) console.log('monitoring', await ask('10.1.2.3'));
console.log('a scraper', await ask('203.0.113.9'));
server.close();
exceptions.close();
