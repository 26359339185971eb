/** What somebody would deploy to a worker: limits made as the module loads, where a worker may neither ask the time nor for randomness. */
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from 'sluice';
import { rateLimit, rateLimitOf } from 'sluice/fetch';

const ip = (request) => request.headers.get('cf-connecting-ip') ?? undefined;
const home = rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 3, refillRate: '1/h' }), ip })((request) =>
  Response.json({ left: rateLimitOf(request).remaining }),
);
const failures = rateLimit({
  policy: fixedWindow({ name: 'failures', limit: 2, window: '1h', align: 'first' }),
  countOnly: ({ status }) => status === 401,
  ip,
})((request) => new Response(null, { status: request.url.includes('wrong') ? 401 : 200 }));

const every = createLimiter({
  policies: [
    fixedWindow({ limit: 10, window: '1h' }),
    slidingWindowLog({ limit: 10, window: '1h' }),
    slidingWindowCounter({ limit: 10, window: '1h' }),
    tokenBucket({ capacity: 10, refillRate: '1/h' }),
    leakyBucket({ capacity: 10, leakRate: '1/h' }),
    gcra({ limit: 10, period: '1h', capacity: 10 }),
  ],
});

// biome-ignore lint/style/noDefaultExport: this is how a worker says what it serves.
export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (pathname === '/login') return failures(request, env, context);
    if (pathname !== '/every') return home(request, env, context);
    const { decisions } = await every.attempt('user:42', { cost: 4 });
    return Response.json(decisions.map(({ policy, allowed, remaining }) => [policy, allowed, remaining]));
  },
};
