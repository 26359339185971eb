/** A chat on `ws`: five messages at once for each address, then one a minute; two connections at a time. */
import { createServer } from 'node:http';
import { concurrency, tokenBucket } from 'sluice';
import { rateLimit, rateLimitConnections } from 'sluice/ws';
import { WebSocketServer } from 'ws';

const server = createServer();
const sockets = new WebSocketServer({
  server,
  verifyClient: rateLimitConnections({ policy: concurrency({ name: 'sockets', limit: 2, ttl: '1h' }) }),
});

const limited = rateLimit({ policy: tokenBucket({ name: 'messages', capacity: 5, refillRate: '1/m' }) });

sockets.on('connection', (socket, request) => {
  socket.on(
    'message',
    limited(socket, request, (data, _isBinary, result) => {
      for (const other of sockets.clients) other.send(`${data} (${result?.remaining} left)`);
    }),
  );
});

server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
