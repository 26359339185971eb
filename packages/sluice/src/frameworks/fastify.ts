/**
 * `sluice/fastify`: a plugin for Fastify 5. It puts a hook on every route that is declared after it: with the options of the plugin,
 * with those in the route's `config.rateLimit`, or with both. What a route needs is worked out when it is declared.
 */
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify';
import type { GateDecision, RequestResult } from '../http/gate.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { proceedWith } from '../model/maybe-promise.ts';
import { checkFlag, invalidOption } from '../model/options.ts';
import { watchEarlierRoutes } from './earlier-routes.ts';
import { concludeOnClose, lowerCase, OriginalView, sendReply } from './node-http.ts';
import { checkRateLimitOptions, type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { fastifyClient } from './proxy-trust.ts';
import { checkRouteLimit, checkStoreOption, hasLimit, routeOptions } from './routes.ts';

/** The limit of one route: `config: { rateLimit: { ... } }`. */
export type FastifyRouteRateLimit<Context = unknown> = RateLimitOptions<FastifyRequest, Context>;

/** What the plugin takes: a limit for all routes, and when to ask. */
export interface FastifyRateLimitOptions<Context = unknown> extends FastifyRouteRateLimit<Context> {
  /** Whether routes are limited that say nothing about it. Default: true when the plugin has a limit. */
  readonly global?: boolean | undefined;
  /** When in the life of a request to ask. Default: 'onRequest'; later when the key needs what another hook finds out. */
  readonly hook?: HookName | undefined;
}

const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;
/** The moments of a request at which a limit can be asked. */
export type HookName = (typeof HOOKS)[number];

declare module 'fastify' {
  interface FastifyRequest {
    /** What the limit of this route was told; undefined when it has none or was skipped. */
    rateLimit?: RequestResult | undefined;
  }
  interface FastifyContextConfig {
    /** The limit of this route, over the options of the plugin; false for none. */
    rateLimit?: FastifyRouteRateLimit | false | undefined;
  }
}

/**
 * The plugin. Register it before the routes, and wait for it.
 *
 * @example
 * await app.register(rateLimit, { policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) });
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = async (app, options) => {
  const { store: _store, global = hasLimit(options), hook = 'onRequest', ...common } = options;
  checkRateLimitOptions(common, 'rateLimit');
  const store = checkStoreOption(options, 'rateLimit');
  checkFlag(options.global, 'rateLimit.global');
  if (!HOOKS.includes(hook)) throw invalidOption('rateLimit.hook', HOOKS.map((name) => `'${name}'`).join(', '), hook);
  const shared = hasLimit(common) ? entranceOf(common, { store }) : undefined;
  if (global && shared === undefined) throw invalidOption('rateLimit.global', 'a limiter or policy beside it', global);
  const entranceFor = routeEntrances(common, store);

  if (!app.hasRequestDecorator('rateLimit')) app.decorateRequest('rateLimit');
  const noteSeen = watchEarlierRoutes(app, global, options.onWarning);
  app.addHook('onRoute', (route) => {
    noteSeen(route);
    const own = route.config?.rateLimit;
    const entrance = own === undefined ? global && shared : own !== false && entranceFor(own, route);
    if (entrance) addHook(route, hook, hookOf(entrance));
  });
};

/** For the whole app, not for a scope of its own, as `fastify-plugin` would mark it. */
Object.assign(rateLimit, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '5.x' },
});

/** The same as a hook alone, for what is no route: `setNotFoundHandler({ preHandler: rateLimitHook({ ... }) }, ...)`. */
export function rateLimitHook<Context = unknown>(options: FastifyRouteRateLimit<Context>): FastifyHook {
  return hookOf(entranceOf(options));
}

/** A hook, as Fastify calls it. */
export type FastifyHook = (
  this: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => void;

/** Calls `done` when the request may go on; one that is denied has its reply, and ends here. */
function hookOf({ enter, conclude }: Entrance<FastifyRequest>): FastifyHook {
  const goOn = (
    decision: GateDecision,
    view: FastifyView,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): undefined => {
    if (!decision.allowed) {
      sendReply(reply, decision.response);
      return;
    }
    concludeOnClose(reply.raw, conclude, decision, view);
    for (const name in decision.headers) reply.header(lowerCase(name), decision.headers[name]);
    view.native.rateLimit = decision.result;
    done();
  };
  return (request, reply, done) => {
    const view = new FastifyView(request, request.raw, reply.raw);
    // What throws synchronously Fastify catches; later nobody would, and a bad header of one denial would end the server.
    proceedWith(enter(view), goOn, view, reply, done)?.catch(done);
  };
}

/** Fastify declares HEAD beside GET with the same config, also where GET is one method of several: all of them are one limit. */
function routeEntrances(
  common: FastifyRouteRateLimit,
  store: FastifyRateLimitOptions['store'],
): (own: FastifyRouteRateLimit, route: RouteOptions) => Entrance<FastifyRequest> {
  const made = new WeakMap<object, Map<string, Entrance<FastifyRequest>>>();
  return (own, route) => {
    const [verbs, place] = [verbsOf(route), placeOf(route)];
    const name = `${verbs.join(',')} ${place}`;
    const path = `${name}: config.rateLimit`;
    checkRouteLimit(own, path);
    const byName = made.get(own) ?? new Map<string, Entrance<FastifyRequest>>();
    const entrance = byName.get(name) ?? entranceOf(routeOptions(common, own, name), { path, store });
    for (const verb of verbs) byName.set(`${verb} ${place}`, entrance);
    made.set(own, byName.set(name, entrance));
    return entrance;
  };
}

function verbsOf({ method }: RouteOptions): readonly string[] {
  return [...new Set([method].flat().map((verb) => (verb === 'HEAD' ? 'GET' : verb)))];
}

/** With the constraints, by which Fastify tells routes of one URL apart: versions, hosts. */
function placeOf({ url, constraints = {} }: RouteOptions): string {
  return [url, ...Object.entries(constraints).map(([name, value]) => `${name}=${String(value)}`)].join(' ');
}

/** Before the hooks of the route itself. */
function addHook(route: RouteOptions, name: HookName, hook: FastifyHook): void {
  const others = [route[name] ?? []].flat();
  Object.assign(route, { [name]: [name === 'preParsing' ? besidePayload(hook) : hook, ...others] });
}

/** Hooks before the parsing are handed the body too. Whoever says nothing about it goes on with it as it is. */
function besidePayload(hook: FastifyHook): preParsingHookHandler {
  return function (request, reply, _payload, done) {
    hook.call(this, request, reply, done as HookHandlerDoneFunction);
  };
}

class FastifyView extends OriginalView<FastifyRequest> {
  override get client(): ClientAddress | undefined {
    return fastifyClient(this.native);
  }

  override get route(): string | undefined {
    return this.native.routeOptions.url;
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
