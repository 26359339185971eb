/**
 * `sluice/nest`: a module, a guard and two decorators for Nest 11: over Express or Fastify, for resolvers of GraphQL and for gateways of WebSockets. It
 * imports Nest when it runs, because Nest knows what it injects and what it catches by its own classes.
 */

import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  SetMetadata,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, Reflector } from '@nestjs/core';
import type { Denial } from '../http/denial.ts';
import type { RequestResult } from '../http/gate.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { inBackground, type MaybePromise } from '../model/maybe-promise.ts';
import { checkFunction } from '../model/options.ts';
import type { Store } from '../model/store.ts';
import { refusalOf } from './calls.ts';
import { exchangeIn, messageView, tellClient } from './nest-contexts.ts';
import {
  concludeOnClose,
  type FastifyReplyLike,
  type NodeRequest,
  type NodeResponse,
  NodeView,
  send,
  sendReply,
  setHeaders,
} from './node-http.ts';
import { checkRateLimitOptions, type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { type ExpressLike, expressClient, fastifyClient } from './proxy-trust.ts';
import { checkRouteLimit, checkStoreOption, hasLimit, routeOptions } from './routes.ts';

/** What the guard uses of a request, Express's or Fastify's. */
export interface NestRequest extends Partial<NodeRequest> {
  /** Fastify */
  readonly raw?: NodeRequest | undefined;
  readonly originalUrl?: string | undefined;
  /** Express */
  readonly route?: { readonly path: unknown } | undefined;
  /** Fastify */
  readonly routeOptions?: { readonly url?: string | undefined } | undefined;
  /** What the limit of this handler was told; undefined when it has none or was skipped. */
  rateLimit?: RequestResult | undefined;
}

/** A request and its response, as `exchangeOf` finds them. */
export interface NestExchange {
  readonly request: NestRequest;
  /** Express's, or Fastify's with Node's beneath. Undefined where there is none, as for a subscription of GraphQL. */
  readonly response: NodeResponse | (FastifyReplyLike & { readonly raw: NodeResponse }) | undefined;
  /** Where one request makes several calls, as in GraphQL: which one this is. */
  readonly call?: { readonly id: object; readonly route: string } | undefined;
}

/** What `RateLimitModule.forRoot` takes. */
export interface NestRateLimitOptions<Native = NestRequest, Context = unknown>
  extends RateLimitOptions<Native, Context> {
  /** Where to find the request of a context. Undefined lets it through uncounted. Default: that of HTTP and of GraphQL. */
  readonly exchangeOf?: ((context: ExecutionContext) => NestExchange | undefined) | undefined;
}

/** What `RateLimitModule.forRootAsync` takes. */
export interface NestRateLimitAsyncOptions<Native = NestRequest, Context = unknown>
  extends Pick<ModuleMetadata, 'imports'>,
    GuardOption {
  readonly inject?: DynamicModuleInject;
  // biome-ignore lint/suspicious/noExplicitAny: what is injected is between the user and Nest.
  readonly useFactory: (...injected: any[]) => MaybePromise<NestRateLimitOptions<Native, Context>>;
}

type DynamicModuleInject = NonNullable<
  Extract<NonNullable<DynamicModule['providers']>[number], { useFactory: unknown }>['inject']
>;

/** Where the guard stands. */
export interface GuardOption {
  /** Whether the guard stands before every handler. Default: true; else `@UseGuards(RateLimitGuard)`, after who logs users in. */
  readonly global?: boolean | undefined;
}

const OPTIONS = Symbol('sluice: options of RateLimitModule');
const METADATA = 'sluice:rate-limit';
const reflector = new Reflector();

/** The limit of a handler or of all handlers of a controller, over the options of the module. */
export function RateLimit<Native = NestRequest, Context = unknown>(
  options: RateLimitOptions<Native, Context> = {},
): MethodDecorator & ClassDecorator {
  const decorate = SetMetadata(METADATA, options);
  return (target: object, name?: string | symbol, method?: PropertyDescriptor) => {
    checkRateLimitOptions(options, `@RateLimit() of ${nameOf(target, name)}`);
    decorate(target, name!, method!);
  };
}

/** Of a controller, or of one of its handlers. */
function nameOf(target: object, name: string | symbol | undefined): string {
  return name === undefined ? (target as Target).name : `${target.constructor.name}.${String(name)}`;
}

/** No limit for this handler or controller. */
export function SkipRateLimit(): MethodDecorator & ClassDecorator {
  return SetMetadata(METADATA, false);
}

/** A denial as other filters may catch it. */
export class RateLimitException extends HttpException {
  /** The response that is sent, unless a filter of yours sends another. */
  readonly denial: Denial;
  /** Undefined when the request does not say who is calling (401). */
  readonly result: RequestResult | undefined;

  /** What clients of GraphQL read in `errors`: `code`, and `retryAfter` in whole seconds. */
  readonly extensions: { readonly code: string; readonly retryAfter?: number | undefined };

  constructor(denial: Denial, result: RequestResult | undefined) {
    super(denial.body, denial.status);
    const { message, retryAfter } = refusalOf(denial, result);
    this.message = message;
    this.denial = denial;
    this.result = result;
    const code = result === undefined ? 'UNAUTHENTICATED' : 'RATE_LIMITED';
    this.extensions = retryAfter === undefined ? { code } : { code, retryAfter };
  }
}

/** Sends a denial as it is: Nest itself would make plain JSON of it. */
class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch({ denial }: RateLimitException, host: ArgumentsHost): void {
    // What is no HTTP has no response to send. Nest throws on what a filter has nothing to say to, and GraphQL tells its caller.
    if (host.getType() !== 'http') return;
    const response = host.switchToHttp().getResponse<NonNullable<NestExchange['response']>>();
    if ('raw' in response) sendReply(response, denial);
    else send(response, denial);
  }
}
Catch(RateLimitException)(RateLimitFilter);

type Target = ReturnType<ExecutionContext['getClass'] | ExecutionContext['getHandler']>;

/** The guard that asks the limit. `RateLimitModule` puts it before every handler, unless `global: false`; then `@UseGuards(RateLimitGuard)`. */
export class RateLimitGuard implements CanActivate {
  readonly #limits: Limits;

  constructor(options: NestRateLimitOptions) {
    this.#limits = limitsOf(options);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const entrance = this.#limits.entranceFor(context.getClass(), context.getHandler());
    if (entrance === undefined) return true;
    if (context.getType() === 'ws' && !this.#limits.hasOwnExchange) return passMessage(entrance, context);
    const exchange = this.#limits.exchangeOf(context);
    return exchange === undefined || passExchange(entrance, exchange);
  }
}
Injectable()(RateLimitGuard);
Inject(OPTIONS)(RateLimitGuard, undefined, 0);

async function passExchange(
  entrance: Entrance<NestRequest>,
  { request, response: sent, call }: NestExchange,
): Promise<true> {
  const response = sent !== undefined && 'raw' in sent ? sent.raw : sent;
  const view = new NestView(request, request.raw ?? (request as NodeRequest), response ?? { req: undefined });
  view.call = call;
  const entered = entrance.enter(view);
  const decision = await entered;
  if (!decision.allowed) {
    if (response?.headersSent !== true) setHeaders(response ?? NOWHERE, rateLimitFields(decision.response));
    throw new RateLimitException(decision.response, decision.result);
  }
  if (response === undefined) inBackground(() => decision.permit?.release());
  else concludeOnClose(response, entrance.conclude, decision, view);
  if (response?.headersSent !== true) setHeaders(response ?? NOWHERE, decision.headers);
  request.rateLimit = decision.result;
  return true;
}

const NOWHERE = { setHeader(): void {} };

/** A message has no response: who is denied is told by the event `exception`. */
async function passMessage(entrance: Entrance<NestRequest>, context: ExecutionContext): Promise<true> {
  const entered = entrance.enter(messageView(context));
  const decision = await entered;
  if (decision.allowed) {
    inBackground(() => decision.permit?.release());
    return true;
  }
  // Whoever has gateways has the package; those who have none need not install it.
  const { WsException } = await import('@nestjs/websockets');
  throw new WsException(tellClient(context, refusalOf(decision.response, decision.result)));
}

/** What the guards of one module's options have in common. */
class Limits {
  readonly exchangeOf: (context: ExecutionContext) => NestExchange | undefined;
  readonly hasOwnExchange: boolean;
  readonly #options: NestRateLimitOptions;
  readonly #store: Store;
  readonly #common: Entrance<NestRequest> | undefined;
  readonly #made = new WeakMap<Target, WeakMap<Target, { readonly entrance: Entrance<NestRequest> | undefined }>>();

  constructor(options: NestRateLimitOptions) {
    const { store: _store, exchangeOf = exchangeIn, ...common } = options;
    checkRateLimitOptions(common, 'RateLimitModule');
    checkFunction(options.exchangeOf, 'RateLimitModule.exchangeOf');
    this.#store = checkStoreOption(options, 'RateLimitModule');
    this.#options = common;
    this.exchangeOf = exchangeOf;
    this.hasOwnExchange = exchangeOf !== exchangeIn;
    this.#common = hasLimit(common) ? entranceOf(common, { path: 'RateLimitModule', store: this.#store }) : undefined;
  }

  entranceFor(controller: Target, handler: Target): Entrance<NestRequest> | undefined {
    const handlers = this.#made.get(controller) ?? new WeakMap();
    this.#made.set(controller, handlers);
    const made = handlers.get(handler) ?? { entrance: this.#make(controller, handler) };
    handlers.set(handler, made);
    return made.entrance;
  }

  #make(controller: Target, handler: Target): Entrance<NestRequest> | undefined {
    const ofHandler = limitAt(handler);
    const own = ofHandler ?? limitAt(controller);
    if (own === undefined) return this.#common;
    if (own === false) return undefined;
    const method = ofHandler === undefined ? '' : `.${handler.name}`;
    const path = `@RateLimit() of ${controller.name}${method}`;
    checkRouteLimit(own, path);
    const name = `${controller.name}${placeOf(controller)}${method}`;
    return entranceOf(routeOptions(this.#options, own, name), { path, store: this.#store });
  }
}

const limits = new WeakMap<NestRateLimitOptions, Limits>();

/** Nest makes a guard for each module that uses one: all of them keep to the same limits. */
function limitsOf(options: NestRateLimitOptions): Limits {
  const known = limits.get(options) ?? new Limits(options);
  limits.set(options, known);
  return known;
}

function limitAt(target: Target): RateLimitOptions<NestRequest> | false | undefined {
  return reflector.get(METADATA, target);
}

/** What `@Controller()` was told. An app with two versions of its API has two controllers of one name, and each has limits of its own. */
function placeOf(controller: Target): string {
  const said = ['path', '__version__'].map((key) => reflector.get<unknown>(key, controller));
  return said.map((value) => (value === undefined ? '' : ` ${String(value)}`)).join('');
}

/** For filters that write a response of their own: what does not tell of ours. */
function rateLimitFields({ headers }: Denial): Denial['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Content-Type'));
}

class NestView extends NodeView<NestRequest> {
  call: NestExchange['call'];

  override get exchange(): object | undefined {
    return this.call?.id ?? super.exchange;
  }

  override get path(): string {
    return this.native.originalUrl ?? super.path;
  }

  override get client(): ClientAddress | undefined {
    const { native } = this;
    return native.raw === undefined ? expressClient(native as ExpressLike) : fastifyClient(native);
  }

  override get route(): string | undefined {
    const { route, routeOptions } = this.native;
    if (this.call !== undefined) return this.call.route;
    return routeOptions?.url ?? (typeof route?.path === 'string' ? route.path : undefined);
  }
}

/**
 * The module that limits a Nest app, on Express and on Fastify.
 *
 * @example
 * @Module({ imports: [RateLimitModule.forRoot({ policy: tokenBucket({ capacity: 100, refillRate: 10 }) })] })
 * export class AppModule {}
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows modules by their class.
export class RateLimitModule {
  static forRoot<Native = NestRequest, Context = unknown>(
    options: NestRateLimitOptions<Native, Context> & GuardOption = {},
  ): DynamicModule {
    const { global, ...rest } = options;
    return moduleOf({ provide: OPTIONS, useValue: rest }, { global });
  }

  static forRootAsync<Native = NestRequest, Context = unknown>({
    global,
    imports = [],
    inject = [],
    useFactory,
  }: NestRateLimitAsyncOptions<Native, Context>): DynamicModule {
    return { ...moduleOf({ provide: OPTIONS, useFactory, inject }, { global }), imports };
  }
}
Module({})(RateLimitModule);

type Provider = NonNullable<DynamicModule['providers']>[number];

function moduleOf(options: Provider, { global = true }: GuardOption): DynamicModule {
  return {
    module: RateLimitModule,
    global: true,
    providers: [
      options,
      RateLimitGuard,
      { provide: APP_FILTER, useClass: RateLimitFilter },
      ...(global ? [{ provide: APP_GUARD, useExisting: RateLimitGuard }] : []),
    ],
    exports: [OPTIONS, RateLimitGuard],
  };
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
