import express from 'express';
import { memoryStore, slidingWindowCounter } from 'sluice';
import { rateLimit } from 'sluice/express';

const app = express();
app.use(
  rateLimit({
    policy: slidingWindowCounter({ name: 'api', limit: 1, window: '1m' }),
    store: memoryStore(), // redisStore(client) for several processes
    onDenied: (denial, { view, result }) => {
      const seconds = Math.ceil(result.retryAfter ?? 0);
      const wantsPage = view.header('accept')?.includes('text/html');
      return {
        status: 429,
        // Keep these: Retry-After and the rate limit headers are in them.
        headers: { ...denial.headers, 'Content-Type': wantsPage ? 'text/html; charset=utf-8' : 'application/json' },
        body: wantsPage ? `<h1>Slow down</h1><p>Try again in ${seconds} s.</p>` : JSON.stringify({ code: 'SLOW_DOWN' }),
      };
    },
  }),
);
app.get('/', (_request, response) => void response.send('hello'));

const server = app.listen(0);
const { port } = server.address() as { port: number };
const ask = async (accept: string) => {
  const response = await fetch(`http://localhost:${port}/`, { headers: { accept } });
  const text = (await response.text()).replace(/\d+ s/, 'N s');
  return `${response.status} ${text}${response.headers.has('retry-after') ? ', with Retry-After' : ''}`;
};
console.log(await ask('*/*'));
console.log(await ask('application/json'));
console.log(await ask('text/html'));
server.close();
