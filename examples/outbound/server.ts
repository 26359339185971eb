/**
 * The other way round: a server that calls a partner, who takes 20 requests a second and not one more. However many quotes are asked
 * for at once, the calls go out evenly; who would have to wait for more than two seconds is told so instead.
 */
import { createServer } from 'node:http';
import { createLimiter, leakyBucket } from 'sluice';
import { startPartner } from './partner.ts';

const partner = await startPartner({ perSecond: 20 });
const calls = createLimiter({ policy: leakyBucket({ capacity: 40, leakRate: 20, mode: 'shaping' }) });

/** One call, in its turn. */
function quote(item: string): Promise<string> {
  return calls.schedule('partner', async () => (await fetch(`${partner.url}/quotes/${item}`)).text(), {
    timeout: '2s',
  });
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/partner') return response.end(JSON.stringify(partner.seen()));
  const items = Array.from({ length: Number(searchParams.get('n') ?? 1) }, (_, index) => `item-${index}`);
  const quotes = await Promise.allSettled(items.map(quote));
  return response.end(JSON.stringify(quotes.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.code))));
});

server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
