/** Any `(request) => response`: Bun and Deno serve it themselves, and so do workers and Next.js; here Node does with Hono's server. */
import type { IncomingMessage } from 'node:http';
import { serve } from '@hono/node-server';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit, rateLimitOf } from 'sluice/fetch';

/** Bun and Deno tell the address by themselves; in a worker it would be `request.headers.get('cf-connecting-ip')`. */
const ip = (_request: Request, beside: unknown) =>
  (beside as { incoming: IncomingMessage }).incoming.socket.remoteAddress;

const login = rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }), ip })(
  (_request: Request, _beside: unknown) => Response.json({ welcome: true }),
);

const home = rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }), ip })(
  (request: Request, _beside: unknown) => Response.json({ left: rateLimitOf(request)?.remaining }),
);

async function handler(request: Request, beside: unknown): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/health') return new Response('ok');
  return pathname === '/login' ? login(request, beside) : home(request, beside);
}

serve({ fetch: handler, port: Number(process.env.PORT ?? 3000) }, (address) => {
  console.log(`listening on ${JSON.stringify(address)}`);
});
