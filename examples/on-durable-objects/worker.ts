/** Limits in Durable Objects, one for each client: a Cloudflare Worker that is exact wherever in the world it runs. */
import { tokenBucket } from 'sluice';
import { durableObjectStore, type ObjectNamespace } from 'sluice/durable-object';
import { rateLimit, rateLimitOf } from 'sluice/fetch';

// In wrangler.toml: a binding LIMITS of this class, and a migration that makes it.
export { RateLimitObject } from 'sluice/durable-object';

interface Env {
  readonly LIMITS: ObjectNamespace;
}

const policy = tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' });

// biome-ignore lint/style/noDefaultExport: this is how a worker says what it serves.
export default {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> {
    const limited = rateLimit({
      policy,
      store: durableObjectStore(env.LIMITS),
      ip: (incoming: Request) => incoming.headers.get('cf-connecting-ip') ?? undefined,
    });
    const home = limited((incoming: Request, _env: Env, _context: unknown) =>
      Response.json({ left: rateLimitOf(incoming)?.remaining }),
    );
    return home(request, env, context);
  },
};
