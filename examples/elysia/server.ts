/** Elysia, on Bun by itself and on Node with its adapter. */
import { node } from '@elysiajs/node';
import { Elysia } from 'elysia';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimitHook, rateLimitOf } from 'sluice/elysia';

const login = rateLimitHook({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) });
const burst = rateLimitHook({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) });

const isBun = 'Bun' in globalThis;

new Elysia(isBun ? {} : { adapter: node() })
  .get('/health', () => 'ok')
  .post('/login', () => ({ welcome: true }), login)
  .get('/', ({ request }) => ({ left: rateLimitOf(request)?.remaining }), burst) // for all routes: .use(rateLimit({ ... }))
  .listen(Number(process.env.PORT ?? 3000), async (server) => {
    const { raw } = server as { raw?: { ready(): Promise<unknown>; node: { server: { address(): object } } } };
    await raw?.ready();
    console.log(`listening on ${JSON.stringify(raw?.node.server.address() ?? { port: server.port })}`);
  });
