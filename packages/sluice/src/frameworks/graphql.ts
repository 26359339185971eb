/**
 * `sluice/graphql`: operations cost what they ask for. The cost is read from the document and reserved before anything runs, and settled by what came back. For
 * graphql-js, for Envelop (GraphQL Yoga) and for Apollo Server. Each operation of a batch passes by itself.
 */
import type { GateDecision, RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import { inBackground, type MaybePromise } from '../model/maybe-promise.ts';
import { checkFunction } from '../model/options.ts';
import { CallView, type Carrier, fieldsOf, type Refusal, refusalOf, requestIn, tellHeaders } from './calls.ts';
import { Complexity, type ComplexityOptions, checkComplexity, type Operation, operationIn } from './graphql-cost.ts';
import { type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';

/** An operation, as `key`, `cost` and `skip` see it in `view.native`. */
export interface GraphqlCall<Ctx = unknown> extends Partial<Operation> {
  /** What resolvers get as their context. */
  readonly contextValue: Ctx;
  /** `query`, `mutation` or `subscription`; `invalid` when the document could not be parsed or is not valid. */
  readonly operation: string;
}

/** What `rateLimit`, `useRateLimit` and `rateLimitPlugin` take. */
export interface GraphqlRateLimitOptions<Ctx = unknown, Context = unknown>
  extends RateLimitOptions<GraphqlCall<Ctx>, Context> {
  /** How the cost of an operation is found. Not with a `cost` of your own. */
  readonly complexity?: ComplexityOptions | undefined;
  /** The request that brought the operation, for `byIp()` and `byHeader()`. Default: `req` or `request` of the context. */
  readonly request?: ((contextValue: Ctx) => Carrier | undefined) | undefined;
}

/** A denial, as clients see it in `errors`. `extensions` has `code`, `retryAfter` in whole seconds, and the `cost` of the operation. */
export class GraphqlRateLimitError extends Error {
  /** By this name other packages know what may be shown to clients. */
  override readonly name = 'GraphQLError';
  readonly extensions: Readonly<Record<string, unknown>>;
  /** What the limit was told; undefined when nobody knows who is calling. */
  readonly result: RequestResult | undefined;

  constructor(message: string, extensions: Readonly<Record<string, unknown>>, result: RequestResult | undefined) {
    super(message);
    this.extensions = extensions;
    this.result = result;
    // It goes to clients as JSON; what is not for them stays here.
    Object.defineProperty(this, 'result', { enumerable: false });
  }

  /** Without `http`, which is for the server. */
  toJSON(): { message: string; extensions: Readonly<Record<string, unknown>> } {
    const { http: _, ...extensions } = this.extensions;
    return { message: this.message, extensions };
  }
}

const CODES: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

/** A limit for operations: what all three doors are made of. */
class OperationLimit<Ctx> {
  readonly #entrance: Entrance<GraphqlCall<Ctx>>;
  readonly #request: (contextValue: Ctx) => Carrier | undefined;
  readonly #complexity: ComplexityOptions;
  readonly #costs = new WeakMap<GraphqlCall<Ctx>, Complexity>();
  readonly #results = new WeakMap<GraphqlCall<Ctx>, unknown>();

  constructor(options: GraphqlRateLimitOptions<Ctx>, path: string) {
    const { complexity = {}, request = requestIn, ...rest } = options;
    this.#complexity = checkComplexity(complexity, `${path}.complexity`);
    checkFunction(options.request, `${path}.request`);
    this.#request = request;
    const settle = rest.settle ?? (rest.countOnly === undefined ? this.#settle : undefined);
    const own = rest.cost === undefined ? { cost: this.#expected, settle } : {};
    this.#entrance = entranceOf({ ...rest, ...own }, { path });
  }

  readonly #expected = ({ native }: NativeView<GraphqlCall<Ctx>>): number => this.#costs.get(native)?.expected ?? 1;
  /** Undefined leaves it at what was reserved. */
  readonly #settle = ({ view }: { readonly view: NativeView<GraphqlCall<Ctx>> }): number =>
    this.#costs.get(view.native)?.actual(this.#results.get(view.native)) as number;

  /** An operation that is about to run. */
  async enter(call: Omit<GraphqlCall<Ctx>, 'operation'>, exchange: object): Promise<Entered> {
    const running = operationIn(call as Operation);
    const native = { ...call, operation: running?.operation ?? 'query' };
    this.#costs.set(native, new Complexity(call as Operation, this.#complexity));
    return this.#ask(native, running?.name?.value ?? 'anonymous', exchange);
  }

  /** Something that will not run, because it is no valid document: it costs 1, and its answer does not wait. */
  charge(contextValue: Ctx): void {
    const native = { contextValue, operation: 'invalid' };
    inBackground(
      () => this.#ask(native, 'invalid', native),
      (entered) => entered.refusal === undefined && entered.end(undefined),
    );
  }

  async #ask(native: GraphqlCall<Ctx>, path: string, exchange: object): Promise<Entered> {
    const request = this.#request(native.contextValue);
    const view = new CallView({ native, method: native.operation, path, exchange, request });
    const entered = this.#entrance.enter(view);
    const decision: GateDecision = await entered;
    if (decision.allowed) return { headers: decision.headers, end: (result) => this.#end(decision, view, result) };
    const refusal = refusalOf(decision.response, decision.result);
    const cost = this.#costs.get(native)?.expected;
    return { refusal, headers: fieldsOf(refusal), error: (http) => errorOf(refusal, decision.result, cost, http) };
  }

  #end(passed: Allowed, view: NativeView<GraphqlCall<Ctx>>, result: unknown): void {
    this.#results.set(view.native, result);
    inBackground(() => passed.permit?.release());
    void this.#entrance.conclude?.(passed, view, isFailed(result) ? 500 : 200);
  }
}

type Entered =
  | { readonly refusal?: undefined; readonly headers: HeaderValues; end(result: unknown): void }
  | { readonly refusal: Refusal; readonly headers: HeaderValues; error(http?: object): GraphqlRateLimitError };

function isFailed(result: unknown): boolean {
  const { errors } = (result ?? {}) as { readonly errors?: readonly unknown[] };
  return errors !== undefined && errors.length > 0;
}

function errorOf(
  { status, message, retryAfter }: Refusal,
  result: RequestResult | undefined,
  cost: number | undefined,
  http: object | undefined,
): GraphqlRateLimitError {
  const code = CODES[status] ?? 'RATE_LIMITED';
  const extensions = { code, ...(retryAfter !== undefined && { retryAfter }), ...(cost !== undefined && { cost }) };
  return new GraphqlRateLimitError(message, http === undefined ? extensions : { ...extensions, http }, result);
}

/** What `execute` of graphql-js is called with, as far as it is used. */
export interface ExecuteArgs extends Operation {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the app has for a context.
  readonly contextValue?: any;
}

/**
 * A limit to put around `execute` or `subscribe` of graphql-js. A denied operation is a result with one error, whose `extensions` have the
 * code `RATE_LIMITED` and `retryAfter`.
 *
 * @example
 * const limited = rateLimit({ policy: tokenBucket({ capacity: 1000, refillRate: 50 }), store, key: byUser(({ contextValue }) => contextValue.user) });
 * const result = await limited(execute)({ schema, document, contextValue, variableValues });
 */
export function rateLimit<Ctx = unknown, Context = unknown>(
  options: GraphqlRateLimitOptions<Ctx, Context>,
): <Args extends ExecuteArgs, Result>(
  execute: (args: Args) => MaybePromise<Result>,
) => (args: Args) => Promise<Result> {
  const limit = new OperationLimit<Ctx>(options as GraphqlRateLimitOptions<Ctx>, 'rateLimit');
  return (execute) => async (args) => {
    const entered = await limit.enter(callOf(args), args);
    tellHeaders(args.contextValue, entered.headers);
    if (entered.refusal !== undefined) return { errors: [entered.error()] } as never;
    return ending(entered.end, () => execute(args));
  };
}

function callOf<Ctx>({ schema, document, operationName, variableValues, contextValue }: ExecuteArgs) {
  return { schema, document, operationName, variableValues, contextValue: contextValue as Ctx };
}

async function ending<T>(end: (result: T | undefined) => void, execute: () => MaybePromise<T>): Promise<T> {
  let result: T | undefined;
  try {
    result = await execute();
    return result;
  } finally {
    end(result);
  }
}

/** What the Envelop plugin uses of the hooks' arguments. */
interface EnvelopHook {
  readonly args: ExecuteArgs;
  setResultAndStopExecution(result: unknown): void;
}

interface EnvelopPlugin {
  // biome-ignore lint/suspicious/noExplicitAny: Envelop's own types say what its hooks are called with.
  onParse(hook: any): (after: any) => void;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  onValidate(hook: any): (after: any) => void;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  onExecute(hook: any): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  onSubscribe(hook: any): Promise<any>;
}

/**
 * A plugin for Envelop and GraphQL Yoga. A denied operation gets the status 429 and an error with the code `RATE_LIMITED`. Documents that cannot be
 * parsed, or are not valid, cost 1.
 *
 * @example
 * createYoga({ schema, plugins: [useRateLimit({ policy: tokenBucket({ capacity: 1000, refillRate: 50 }), store })] });
 */
export function useRateLimit<Ctx = unknown, Context = unknown>(
  options: GraphqlRateLimitOptions<Ctx, Context>,
): EnvelopPlugin {
  const limit = new OperationLimit<Ctx>(options as GraphqlRateLimitOptions<Ctx>, 'useRateLimit');
  const enter = async ({ args, setResultAndStopExecution }: EnvelopHook) => {
    const entered = await limit.enter(callOf(args), args);
    tellHeaders(args.contextValue, entered.headers);
    if (entered.refusal === undefined) return entered.end;
    const { status } = entered.refusal;
    setResultAndStopExecution({ errors: [entered.error({ status, headers: entered.headers })] });
    return undefined;
  };
  return {
    onParse:
      ({ context }) =>
      ({ result }) => {
        if (result === null || result instanceof Error) limit.charge(context);
      },
    onValidate:
      ({ context: before }) =>
      ({ valid, context }) => {
        if (!valid) limit.charge(context ?? before);
      },
    async onExecute(hook) {
      const end = await enter(hook);
      return end && { onExecuteDone: ({ result }: { readonly result: unknown }) => end(result) };
    },
    async onSubscribe(hook) {
      const end = await enter(hook);
      return (
        end && { onSubscribeResult: () => ({ onEnd: () => end(undefined) }), onSubscribeError: () => end(undefined) }
      );
    },
  };
}

/** What the Apollo plugin uses of a request. */
interface ApolloRequest {
  readonly schema: unknown;
  readonly document?: unknown;
  readonly operationName?: string | null | undefined;
  readonly request: { readonly variables?: Readonly<Record<string, unknown>> | undefined; readonly http?: unknown };
  readonly contextValue: unknown;
  readonly operation?: unknown;
  readonly response: {
    readonly http: { readonly headers: { set(name: string, value: string): unknown } };
    readonly body?: { readonly kind: string; readonly singleResult?: unknown } | undefined;
  };
}

interface ApolloPlugin {
  // biome-ignore lint/suspicious/noExplicitAny: Apollo's own types say what its hooks are called with.
  requestDidStart(): Promise<Record<string, (request: any) => Promise<void>>>;
}

/**
 * A plugin for Apollo Server 4 and 5. A denied operation gets the status 429 and an error with the code `RATE_LIMITED`. Documents that cannot be parsed, or are
 * not valid, cost 1.
 *
 * @example
 * new ApolloServer({ typeDefs, resolvers, plugins: [rateLimitPlugin({ policy, store, key: byUser(({ contextValue }) => contextValue.user) })] });
 */
export function rateLimitPlugin<Ctx = unknown, Context = unknown>(
  options: GraphqlRateLimitOptions<Ctx, Context>,
): ApolloPlugin {
  const limit = new OperationLimit<Ctx>(options as GraphqlRateLimitOptions<Ctx>, 'rateLimitPlugin');
  return {
    async requestDidStart() {
      let entered: Entered | undefined;
      return {
        async didResolveOperation(request: ApolloRequest) {
          const { schema, document, operationName, contextValue } = request as ApolloRequest & Operation;
          const call = { schema, document, operationName, variableValues: request.request.variables, contextValue };
          entered = await limit.enter(call as Omit<GraphqlCall<Ctx>, 'operation'>, request);
          const { headers } = entered;
          if (entered.refusal === undefined) return setHeaders(request, headers);
          throw entered.error({ status: entered.refusal.status, headers: new Map(Object.entries(headers)) });
        },
        async didEncounterErrors({ operation, contextValue }: ApolloRequest) {
          if (operation === undefined && entered === undefined) limit.charge(contextValue as Ctx);
        },
        async willSendResponse({ response: { body } }: ApolloRequest) {
          if (entered !== undefined && entered.refusal === undefined) entered.end(body?.singleResult);
        },
      };
    },
  };
}

function setHeaders({ response }: ApolloRequest, headers: HeaderValues): void {
  for (const name in headers) response.http.headers.set(name, headers[name]!);
}

export type { Carrier } from './calls.ts';
export { type ComplexityOptions, type FieldUse, type Operation, operationCost } from './graphql-cost.ts';
export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
