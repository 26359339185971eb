/**
 * `sluice/mcp`: limits for the tools of an MCP server, made with the official SDK, over stdio and over HTTP. A denied call is a result with `isError` and a sentence
 * that a model can act on: how many seconds to wait.
 */
import type { GateDecision, RequestResult } from '../http/gate.ts';
import { lacking } from '../http/missing.ts';
import { Kind } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import type { Store } from '../model/store.ts';
import { CallView, type Carrier, type Refusal, refusalOf, runCall } from './calls.ts';
import { checkRateLimitOptions, type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { mistake } from './other-names.ts';
import { checkRouteLimit, checkStoreOption, hasLimit, routeOptions } from './routes.ts';

/** A call of a tool, as `key`, `cost` and `skip` see it in `view.native`. */
export interface McpCall {
  readonly tool: string;
  /** What the tool is called with; undefined when it takes nothing. */
  readonly args: unknown;
  /** Who has logged in, as the SDK found out: `clientId`, `scopes`, `extra`. */
  readonly authInfo: { readonly clientId?: string | undefined; readonly extra?: unknown } | undefined;
  /** Of the transport. A client makes itself a new one whenever it likes: no key for a limit. */
  readonly sessionId: string | undefined;
  /** Whether the call came over HTTP. Over stdio there is one client. */
  readonly isHttp: boolean;
}

/** A limit of tools. */
export type McpToolLimit<Context = unknown> = RateLimitOptions<McpCall, Context>;

/** What `rateLimit` takes. */
export interface McpRateLimitOptions<Context = unknown> extends McpToolLimit<Context> {
  /** Tools with a limit of their own, over the common options; false for none. */
  readonly tools?: Readonly<Record<string, McpToolLimit<Context> | false>> | undefined;
}

/** What is used of a server of the SDK. */
export interface McpServerLike {
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own types say what a tool is.
  registerTool(name: string, config: any, handler: any): any;
}

/** What the SDK calls handlers with, besides the arguments. */
interface Extra {
  readonly authInfo?: McpCall['authInfo'];
  readonly sessionId?: string | undefined;
  readonly requestInfo?: Carrier | undefined;
}

type Handler = (...given: unknown[]) => unknown;

/**
 * A limit for the tools that are registered afterwards, on one server or on a new one for each request. Each tool and each caller has a limit
 * of its own: a caller is the `clientId` of who has logged in, and over stdio the one client there is. Over HTTP without a login, say who it
 * is with `key`.
 *
 * @example
 * const limited = rateLimit({ policy: tokenBucket({ capacity: 5, refillRate: '1/m' }) });
 * const server = limited(new McpServer({ name: 'search', version: '1.0.0' }));
 * server.registerTool('search', { inputSchema: { query: z.string() } }, async ({ query }) => ({ content: [] }));
 */
export function rateLimit<Context = unknown>(
  options: McpRateLimitOptions<Context>,
): <Server extends McpServerLike>(server: Server) => Server {
  const limits = new ToolLimits<Context>(options);
  return (server) => {
    if (typeof server?.registerTool !== 'function') {
      throw invalidOption('rateLimit(...)(server)', 'an McpServer of @modelcontextprotocol/sdk', Kind.of(server));
    }
    refuseEarlierTools(server);
    const around =
      (register: Handler): Handler =>
      (name, ...rest) =>
        register.call(server, name, ...rest.slice(0, -1), limits.around(String(name), rest.at(-1) as Handler));
    const { registerTool, tool } = server as McpServerLike & { tool?: Handler };
    server.registerTool = around(registerTool as Handler);
    // The older way to declare one.
    if (typeof tool === 'function') Object.assign(server, { tool: around(tool) });
    return server;
  };
}

/** They would have no limit, and nobody would notice. */
function refuseEarlierTools(server: McpServerLike): void {
  const { _registeredTools: earlier } = server as { readonly _registeredTools?: object };
  const [name] = Object.keys(earlier ?? {});
  if (name === undefined) return;
  throw mistake(
    'rateLimit(...)(server)',
    `The tool "${name}" is not rate limited: it was registered before the limit. Call \`limited(server)\` first.`,
  );
}

/** One for all servers that are made with the same options. */
class ToolLimits<Context> {
  readonly #own: Readonly<Record<string, McpToolLimit<Context> | false>>;
  readonly #common: McpToolLimit<Context>;
  readonly #entrances = new Map<string, Entrance<McpCall> | undefined>();
  readonly #store: Store;
  readonly #shared: Entrance<McpCall> | undefined;

  constructor(options: McpRateLimitOptions<Context>) {
    checkRateLimitOptions(options, 'rateLimit', ['tools']);
    const { tools = {}, store: _, ...common } = options;
    this.#store = checkStoreOption(options, 'rateLimit');
    this.#common = { ...common, key: common.key ?? byToolAndCaller() };
    this.#own = tools;
    if (!hasLimit(common) && Object.keys(tools).length === 0) entranceOf(common);
    this.#shared = hasLimit(common) ? entranceOf(this.#common, { store: this.#store }) : undefined;
    for (const name of Object.keys(tools)) this.#entrances.set(name, this.#make(name));
  }

  #make(name: string): Entrance<McpCall> | undefined {
    const own = this.#own[name];
    if (own === false) return undefined;
    const path = `rateLimit.tools.${name}`;
    checkRouteLimit(own, path);
    return entranceOf(routeOptions(this.#common, own!, name), { path, store: this.#store });
  }

  around(name: string, handler: Handler): Handler {
    const entrance = this.#entrances.has(name) ? this.#entrances.get(name) : this.#shared;
    if (entrance === undefined) return handler;
    return async (...given) => {
      // A tool that takes nothing is called with what the SDK adds alone.
      const extra = (given.at(-1) ?? {}) as Extra;
      const { authInfo, sessionId, requestInfo } = extra;
      const args = given.length > 1 ? given[0] : undefined;
      const native = { tool: name, args, authInfo, sessionId, isHttp: requestInfo !== undefined };
      const view = new CallView({ native, method: 'tools/call', path: name, exchange: extra, request: requestInfo });
      const entered = entrance.enter(view);
      const decision: GateDecision = await entered;
      if (!decision.allowed) return resultOf(name, refusalOf(decision.response, decision.result), decision.result);
      return runCall(entrance, decision, view, () => handler(...given), statusOf);
    };
  }
}

/** A tool tells of its failures in its result. */
function statusOf(result: unknown): number {
  return (result as { readonly isError?: unknown } | undefined)?.isError === true ? 500 : 200;
}

/** For a model: what happened, which tool, how long to wait, and that to try again before makes no sense. */
function resultOf(tool: string, refusal: Refusal, result: RequestResult | undefined): object {
  const { error, retryAfter, status } = refusal;
  const text = result === undefined ? refusal.message : `The tool "${tool}" is rate limited. ${adviceOf(refusal)}`;
  const meta = { error, status, ...(retryAfter !== undefined && { retryAfter }) };
  return { isError: true, content: [{ type: 'text', text }], _meta: { 'sluice/rate-limit': meta } };
}

function adviceOf({ message, retryAfter }: Refusal): string {
  if (retryAfter === undefined) return `${message} Calling it again with the same arguments will not help.`;
  const seconds = `${retryAfter} second${retryAfter === 1 ? '' : 's'}`;
  return `Wait ${seconds} before you call it again; calls before that will be denied, too.`;
}

const STDIO = 'stdio';

/** The default key. */
function byToolAndCaller(): (view: NativeView<McpCall>) => string | undefined {
  const key = ({ native: { tool, authInfo, isHttp } }: NativeView<McpCall>): string | undefined => {
    const caller = authInfo?.clientId ?? (isHttp ? undefined : STDIO);
    return caller && `tool:${encodeURIComponent(tool)}|${caller}`;
  };
  return lacking(key, 'a client who is logged in (give rateLimit a `key` that says who is calling)');
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
