import { createServer } from 'node:http';
import { fixedWindow, memoryStore, slidingWindowCounter } from 'sluice';
import { byIp } from 'sluice/http';
import { rateLimit } from 'sluice/node';

// A household may make 3 accounts a day. The second limit stops a botnet that has many addresses.
const perAddress = rateLimit({
  policy: fixedWindow({ name: 'sign-up', limit: 3, window: '1d' }),
  store: memoryStore(), // redisStore(client) for several processes
  key: byIp(), // IPv6 by its /64: one household, one key
  countOnly: ({ status }) => status === 201, // mistakes in the form are free
});
const forEveryone = rateLimit({
  policy: slidingWindowCounter({ name: 'all-sign-ups', limit: 1000, window: '1h', visible: false }),
  store: memoryStore(),
  key: () => 'everyone',
});

const signUp = forEveryone((request, response) => {
  response.writeHead(request.url === '/sign-up?name=' ? 400 : 201).end();
});
const server = createServer(perAddress(signUp));

await new Promise<void>((resolve) => server.listen(0, resolve));
const { port } = server.address() as { port: number };
const ask = async (name: string) => (await fetch(`http://localhost:${port}/sign-up?name=${name}`)).status;

for (const name of ['', '', 'ada', 'grace', 'edsger', 'bot']) console.log(name || '(empty)', await ask(name));
server.closeAllConnections();
server.close();
