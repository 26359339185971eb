/** Bare `node:http`, and upgrades to WebSocket: a client may open two connections an hour. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit, rateLimitUpgrade } from 'sluice/node';

const login = rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) })(
  (_request, response) => response.end('{"welcome":true}'),
);

const home = rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) })(
  (request, response) => response.end(JSON.stringify({ left: request.rateLimit?.remaining })),
);

const server = createServer((request, response) => {
  if (request.url === '/health') response.end('ok');
  else if (request.url === '/login') void login(request, response);
  else void home(request, response);
});

/** A library such as `ws` would do this: agree, and say hello in one frame. */
const live = rateLimitUpgrade({ policy: fixedWindow({ name: 'live', limit: 2, window: '1h', align: 'first' }) });
server.on(
  'upgrade',
  live((request, socket) => {
    const accept = createHash('sha1').update(
      `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
    );
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`,
    );
    socket.end(Buffer.from([0x81, 5, ...Buffer.from('hello')]));
  }),
);

server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
