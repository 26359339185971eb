/** Limits in Deno KV: `deno run --unstable-kv --allow-all examples/on-deno-kv/server.ts`. KV_FILE says where; without it, Deno does. */
import { tokenBucket } from 'sluice';
import { type DenoKv, denoKvStore } from 'sluice/deno-kv';
import { rateLimit, rateLimitOf } from 'sluice/fetch';

/** What Deno has and Node does not: your program has its types. */
const { Deno } = globalThis as unknown as {
  Deno: {
    env: { get(name: string): string | undefined };
    openKv(path?: string): Promise<DenoKv>;
    serve(options: object, handler: (request: Request, beside: Connection) => Promise<Response>): void;
  };
};
interface Connection {
  readonly remoteAddr: { readonly hostname: string };
}

const kv = await Deno.openKv(Deno.env.get('KV_FILE'));
const home = rateLimit({
  policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }),
  store: denoKvStore(kv),
  ip: (_request, beside) => (beside as Connection).remoteAddr.hostname,
})((request: Request, _beside: Connection) => Response.json({ left: rateLimitOf(request)?.remaining }));

Deno.serve(
  {
    port: Number(Deno.env.get('PORT') ?? 3000),
    onListen: (address: object) => console.log(`listening on ${JSON.stringify(address)}`),
  },
  (request, beside) => home(request, beside),
);
