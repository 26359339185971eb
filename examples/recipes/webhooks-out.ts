import { createServer } from 'node:http';
import { createLimiter, memoryStore, tokenBucket } from 'sluice';
import { rateLimitedFetch } from 'sluice/http';

// A receiver that takes two calls, then says 429 once: "come back in 50 ms".
let calls = 0;
const receiver = createServer((_request, response) => {
  calls += 1;
  if (calls === 3) response.writeHead(429, { 'retry-after-ms': '50' }).end();
  else response.end('ok');
});
await new Promise<void>((resolve) => receiver.listen(0, resolve));
const { port } = receiver.address() as { port: number };

const send = rateLimitedFetch(fetch, {
  limiter: createLimiter({
    policy: tokenBucket({ capacity: 10, refillRate: 5 }), // 5 a second to each receiver
    store: memoryStore(), // redisStore(client) for several processes
  }),
  key: (url) => new URL(url).host,
  deadline: '30s', // for everything: turns, tries and waits
  retries: 3,
});

const events = ['created', 'paid', 'shipped', 'refunded'];
const answers = await Promise.all(
  events.map((type) => send(`http://localhost:${port}/hook`, { method: 'POST', body: JSON.stringify({ type }) })),
);
console.log(answers.map(({ status }) => status).join(' '), `in ${calls} calls`);
receiver.closeAllConnections();
receiver.close();
