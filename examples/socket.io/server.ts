/** A chat on Socket.IO: five events at once for each address, then one a minute; two connections at a time. */
import { createServer } from 'node:http';
import { concurrency, tokenBucket } from 'sluice';
import { rateLimit, rateLimitConnections } from 'sluice/socket.io';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);

io.use(rateLimitConnections({ policy: concurrency({ name: 'sockets', limit: 2, ttl: '1h' }) }));
io.use(rateLimit({ policy: tokenBucket({ name: 'events', capacity: 5, refillRate: '1/m' }) }));

io.on('connection', (socket) => {
  socket.on('say', (text: string, answer: (said: { said: string }) => void) => answer({ said: text }));
});

server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
