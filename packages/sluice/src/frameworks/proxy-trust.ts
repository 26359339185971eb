/**
 * What the frameworks themselves say about the address of a client, by their own settings for proxies: `trust proxy` of Express,
 * `trustProxy` of Fastify, `app.proxy` of Koa. Undefined when the setting is off.
 *
 * Whom a setting trusts is tried out with addresses that nobody has (RFC 5737), because it may be a function, a list or a number.
 */
import type { ClientAddress } from '../http/request-view.ts';
import { MAX_HOPS } from '../http/trust.ts';
import type { Mistake } from '../model/errors.ts';

const NOBODY = '192.0.2.1';
const SOMEBODY = '198.51.100.1';
/** More hops than any chain of proxies has. */
const TOO_MANY_HOPS = Array.from({ length: MAX_HOPS + 1 }, (_, hop) => `198.51.100.${hop + 1}`);

type Trust = (address: string, hop: number) => unknown;

/** What is used of a request of Express. */
export interface ExpressLike {
  readonly ip?: string | undefined;
  readonly app?: { readonly settings?: Readonly<Record<string, unknown>> | undefined } | undefined;
}

let lastPrototype: object | undefined;
let lastApp: ExpressLike['app'];

/**
 * Express gives a request the prototype of the app that handles it, and there the app is found. What is read of the request itself is looked for
 * anew each time (docs/decisions/0018).
 */
function appOf(request: ExpressLike): ExpressLike['app'] {
  const prototype: object = Object.getPrototypeOf(request);
  if (prototype === lastPrototype) return lastApp;
  if (!Object.hasOwn(prototype, 'app')) return request.app;
  lastPrototype = prototype;
  lastApp = (prototype as ExpressLike).app;
  return lastApp;
}

export function expressClient(request: ExpressLike): ClientAddress | undefined {
  const settings = appOf(request)?.settings;
  if (!settings?.['trust proxy']) return undefined;
  const mistake = trustsEveryone(settings['trust proxy fn']) ? EXPRESS_TRUSTS_EVERYONE : undefined;
  return { ip: request.ip, mistake };
}

const triedOut = new WeakMap<object, boolean>();

function trustsEveryone(trust: unknown): boolean {
  if (typeof trust !== 'function') return false;
  const known = triedOut.get(trust);
  if (known !== undefined) return known;
  const answer = succeeds(() => (trust as Trust)(NOBODY, MAX_HOPS));
  triedOut.set(trust, answer);
  return answer;
}

/** A function of the user's may not be made for such questions. */
function succeeds(ask: () => unknown): boolean {
  try {
    return Boolean(ask());
  } catch {
    return false;
  }
}

/** What is used of a request of Fastify. It has `ips` only when `trustProxy` is on. */
export interface FastifyLike {
  readonly ip?: string | undefined;
  readonly server?: object | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
}

export function fastifyClient(request: FastifyLike): ClientAddress | undefined {
  if (!('ips' in request)) return undefined;
  const mistake = fastifyMistake(request);
  const isSeen = mistake !== FASTIFY_COUNTS_NO_HOPS || request.headers?.['x-forwarded-for'] !== undefined;
  return { ip: request.ip, mistake: isSeen ? mistake : undefined };
}

const fastifyMistakes = new WeakMap<object, { readonly mistake: Mistake | undefined }>();

function fastifyMistake(request: FastifyLike): Mistake | undefined {
  const server = request.server ?? request;
  const known = fastifyMistakes.get(server) ?? { mistake: findFastifyMistake(request, server) };
  fastifyMistakes.set(server, known);
  return known.mistake;
}

function findFastifyMistake(request: FastifyLike, server: object): Mistake | undefined {
  if (fastifyBelieves(request, TOO_MANY_HOPS)) return FASTIFY_TRUSTS_EVERYONE;
  const isHopCount = typeof optionsOf(server)?.trustProxy === 'number';
  return isHopCount && !fastifyBelieves(request, [SOMEBODY]) ? FASTIFY_COUNTS_NO_HOPS : undefined;
}

/** Whether Fastify would take the left-most of these hops, if nobody in particular sent them. */
function fastifyBelieves(request: FastifyLike, hops: readonly string[]): boolean {
  const raw = { headers: { 'x-forwarded-for': hops.join(', ') }, socket: { remoteAddress: NOBODY } };
  return succeeds(() => (Object.create(request, { raw: { value: raw } }) as FastifyLike).ip === hops[0]);
}

/** Fastify keeps them under a symbol of its own. They are read for a warning only: without them there is none. */
function optionsOf(server: object): { readonly trustProxy?: unknown } | undefined {
  for (let at: object | null = server; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options');
    if (found !== undefined) return (at as Readonly<Record<symbol, object>>)[found];
  }
  return undefined;
}

/** What is used of a context of Koa. */
export interface KoaLike {
  readonly ip: string;
  readonly app?: {
    readonly proxy: boolean;
    readonly proxyIpHeader?: string | undefined;
    readonly maxIpsCount?: number | undefined;
  };
}

/** Koa takes the first address of the last `maxIpsCount`. Without that number it is whatever the client wrote. */
export function koaClient({ ip, app }: KoaLike): ClientAddress | undefined {
  if (!app?.proxy) return undefined;
  const header = (app.proxyIpHeader ?? 'x-forwarded-for').toLowerCase();
  const isEveryone = header === 'x-forwarded-for' && !((app.maxIpsCount ?? 0) > 0);
  return { ip, mistake: isEveryone ? KOA_TRUSTS_EVERYONE : undefined };
}

const ANY_CLIENT =
  'so each client can write an address of its choice into X-Forwarded-For and gets a new limit with it';

const EXPRESS_TRUSTS_EVERYONE: Mistake = {
  code: 'SLUICE_TRUSTS_EVERYONE',
  path: "app.set('trust proxy')",
  message: `Express trusts every proxy, ${ANY_CLIENT}. Say how many proxies stand in front of this server, as in app.set('trust proxy', 1), or which.`,
};

const FASTIFY_TRUSTS_EVERYONE: Mistake = {
  code: 'SLUICE_TRUSTS_EVERYONE',
  path: 'fastify.trustProxy',
  message: `Fastify trusts every proxy, ${ANY_CLIENT}. Say which proxies stand in front of this server, as in fastify({ trustProxy: '10.0.0.0/8' }).`,
};

const KOA_TRUSTS_EVERYONE: Mistake = {
  code: 'SLUICE_TRUSTS_EVERYONE',
  path: 'app.maxIpsCount',
  message: `Koa takes the first address in X-Forwarded-For, ${ANY_CLIENT}. Set app.maxIpsCount to the number of proxies in front of this server.`,
};

const FASTIFY_COUNTS_NO_HOPS: Mistake = {
  code: 'SLUICE_UNTRUSTED_FORWARDED_FOR',
  path: 'fastify.trustProxy',
  message:
    'A request came with the header x-forwarded-for, and this version of Fastify trusts no proxy when trustProxy is a number: everyone behind one ' +
    "proxy shares one limit. Say which proxies you have, as in fastify({ trustProxy: '10.0.0.0/8' }), or use byIp({ trustedProxies: 1 }).",
};
