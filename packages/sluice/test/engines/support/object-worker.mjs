/** A worker with limits in Durable Objects, as somebody would deploy it, and what a test has to see of it. */
import { createLimiter, fixedWindow, slidingWindowLog, tokenBucket } from 'sluice';
import { durableObjectStore, RateLimitObject } from 'sluice/durable-object';
import { rateLimit } from 'sluice/fetch';
import { attemptOf } from 'sluice/store';
import { storeContract } from 'sluice/testing';
import { callsOf } from './calls-of.mjs';
import { counted } from './open-store.mjs';

/** Objects live in the isolate of the worker: what a test asks for, they see. */
let trouble = 'none';

export class Limits extends RateLimitObject {
  #storage;
  constructor(state, env) {
    super(state, env);
    this.#storage = state.storage;
  }

  async fetch(request) {
    if (new URL(request.url).pathname === '/stored') return Response.json((await this.#storage.list()).size);
    if (trouble === 'throw') throw new Error('the object is away');
    if (trouble === 'hang') await new Promise((resolve) => setTimeout(resolve, 600_000));
    return super.fetch(request);
  }
}

const policy = tokenBucket({ name: 'burst', capacity: 3, refillRate: '1/h' });
const ip = (request) => request.headers.get('cf-connecting-ip') ?? undefined;
const events = [];
const hooks = { onFallback: () => events.push('fallback'), onRecovered: () => events.push('recovered') };

/** Each takes what a test sends and answers as JSON. */
const ROUTES = {
  async '/contract'({ LIMITS }) {
    let cases = 0;
    const contract = storeContract(({ clock }) =>
      durableObjectStore(LIMITS, { clock, raw: true, prefix: `case ${cases}` }),
    );
    for (const { name, run } of contract) {
      cases += 1;
      await run().catch((error) => {
        throw new Error(`${name}: ${error.message}`);
      });
    }
    return { cases };
  },
  async '/spend'({ LIMITS }, { key }) {
    const store = durableObjectStore(LIMITS, { deadline: '120s' });
    const { allowed, source } = await createLimiter({
      policy: tokenBucket({ capacity: 50, refillRate: '1/d' }),
      store,
    }).attempt(key);
    return { allowed, source };
  },
  async '/calls'({ LIMITS }) {
    const calls = [];
    const namespace = {
      idFromName: (name) => LIMITS.idFromName(name),
      get: (id) => counted({ fetch: (...args) => LIMITS.get(id).fetch(...args) }, ['fetch'], calls),
    };
    const options = { deadline: '120s', denyCache: false };
    return callsOf(durableObjectStore(namespace, options), calls);
  },
  async '/outage'({ LIMITS }, { mode }) {
    trouble = mode;
    const store = durableObjectStore(LIMITS, { deadline: '200ms', denyCache: false, ...hooks });
    const limiter = createLimiter({ policy: fixedWindow({ limit: 100, window: '1d' }), store });
    const { source } = await limiter.attempt('key');
    return { source, events };
  },
  async '/several'({ LIMITS }) {
    const store = durableObjectStore(LIMITS, { prefix: 'several', deadline: '120s' });
    const limiter = createLimiter({ policy, store });
    await limiter.attempt('empty', { cost: 3 });
    const { allowed } = await store.ask(attemptOf(['full', 'empty'].map((key) => ({ key, policy, cost: 1 }))));
    return { allowed, full: (await limiter.peek('full')).remaining };
  },
  async '/short'({ LIMITS }) {
    const store = durableObjectStore(LIMITS, { prefix: 'short', deadline: '120s' });
    const limiter = createLimiter({ policy: slidingWindowLog({ limit: 10, window: '4s' }), store });
    const { remaining } = await limiter.attempt('key');
    return { remaining, ...(await ROUTES['/stored']({ LIMITS })) };
  },
  async '/stored'({ LIMITS }) {
    const object = LIMITS.get(LIMITS.idFromName('short:key'));
    return { stored: await (await object.fetch('https://x/stored')).json() };
  },
  async '/mistakes'({ LIMITS }) {
    const messageOf = async (act) => {
      try {
        await act();
        return 'nothing';
      } catch (error) {
        return `${error.code} ${error.path}`;
      }
    };
    const limiter = createLimiter({ policy, store: durableObjectStore(LIMITS) });
    return {
      mistakes: [
        await messageOf(() => durableObjectStore(undefined)),
        await messageOf(() => durableObjectStore(LIMITS, { silence: '1s' })),
        await messageOf(() => durableObjectStore(LIMITS, { fallbak: 'deny' })),
        await messageOf(() => limiter.history('key')),
      ],
    };
  },
};

// biome-ignore lint/style/noDefaultExport: this is how a worker says what it serves.
export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    const route = ROUTES[pathname];
    if (route !== undefined) return Response.json(await route(env, Object.fromEntries(searchParams)));
    const limited = rateLimit({ policy, store: durableObjectStore(env.LIMITS, { deadline: '120s' }), ip });
    return limited(() => new Response('hello'))(request, env, context);
  },
};
