/**
 * An API for many tenants, each on a plan. Two limits hold at once, by the minute and by the day: a request spends from both or from
 * neither. A plan that changes keeps what was spent.
 */
import { type FastifyRequest, fastify } from 'fastify';
import { createLimiter, fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/fastify';
import { byUser } from 'sluice/http';

const PLANS = {
  free: [
    tokenBucket({ name: 'burst', capacity: 3, refillRate: '1/m' }),
    fixedWindow({ name: 'daily', limit: 100, window: '1d', align: 'first' }),
  ],
  pro: [
    tokenBucket({ name: 'burst', capacity: 50, refillRate: '60/m' }),
    fixedWindow({ name: 'daily', limit: 10_000, window: '1d', align: 'first' }),
  ],
};
type Plan = keyof typeof PLANS;

interface Tenant {
  readonly id: string;
  plan: Plan;
}

declare module 'fastify' {
  interface FastifyRequest {
    tenant?: Tenant;
  }
}

/** By API key. */
const TENANTS = new Map<string, Tenant>([
  ['key-of-ada', { id: 'ada', plan: 'free' }],
  ['key-of-bell', { id: 'bell', plan: 'pro' }],
]);

const app = fastify();

app.addHook('onRequest', async (request, reply) => {
  const tenant = TENANTS.get(String(request.headers['x-api-key']));
  if (tenant === undefined) return reply.code(401).send('Who are you?');
  request.tenant = tenant;
  return undefined;
});

await app.register(rateLimit, {
  limiter: createLimiter({ policies: ({ plan }: { plan: Plan }) => PLANS[plan] }),
  policies: Object.values(PLANS).flat(), // so that the headers can tell their windows
  key: byUser((request: FastifyRequest) => request.tenant?.id),
  context: ({ native }) => ({ plan: native.tenant?.plan ?? 'free' }),
  hook: 'preHandler', // after the hook above
});

app.get('/reports', async (request) => ({ tenant: request.tenant?.id, left: request.rateLimit?.remaining }));

app.post('/upgrade', { config: { rateLimit: false } }, async (request) => {
  request.tenant!.plan = 'pro';
  return { plan: 'pro' };
});

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${JSON.stringify(app.server.address())}`);
