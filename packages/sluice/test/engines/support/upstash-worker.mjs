/** A worker that keeps its store from one request to the next, as one with `import { env } from 'cloudflare:workers'` does. */
import { Redis } from '@upstash/redis/cloudflare';
import { tokenBucket } from 'sluice';
import { rateLimit, rateLimitOf } from 'sluice/fetch';
import { upstashStore } from 'sluice/upstash';

const policy = tokenBucket({ name: 'kept', capacity: 5, refillRate: '1/d' });
const ip = (request) => request.headers.get('cf-connecting-ip');
const events = [];
let kept;

// biome-ignore lint/style/noDefaultExport: this is how a worker says what it serves.
export default {
  fetch(request, env, context) {
    const hooks = { onFallback: () => events.push('fallback'), onRecovered: () => events.push('recovered') };
    const store = () => upstashStore(Redis.fromEnv(env), { deadline: '500ms', ...hooks });
    kept ??= rateLimit({ policy, store: store(), ip })((given, _context) => {
      return Response.json({ source: rateLimitOf(given).source, events });
    });
    return kept(request, context);
  },
};
