/**
 * The middle of every adapter: a request view in, what to do out. The gate decides and writes; it sends nothing. An adapter makes
 * the view, sets the headers it is given before the response exists, and either goes on or sends the response it is given.
 * Everything that can be known or refused beforehand is, when the gate is made.
 */
import type { AttemptOptions } from '../limiter/core.ts';
import { type Cost, checkCost, isByName } from '../limiter/costs.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { Decision, RateLimitResult, Source } from '../model/decision.ts';
import { Kind, SluiceError, wrong } from '../model/errors.ts';
import { type MaybePromise, proceed, proceedWith } from '../model/maybe-promise.ts';
import { checkFunction, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Permit } from '../model/permit.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { type OnWarning, type Warn, warnOnce } from '../model/warnings.ts';
import { byIp } from './by-ip.ts';
import { watchCounting } from './counted-twice.ts';
import { type Denial, denialOf, responseOf } from './denial.ts';
import {
  checkPolicies,
  formsOf,
  type HeaderForm,
  type HeaderValues,
  type HeaderWriter,
  NO_HEADERS,
  writerOf,
} from './headers.ts';
import { uncalled } from './keys.ts';
import { checkMissing, type Missing, missingAnswer, saysNothing } from './missing.ts';
import type { RequestView } from './request-view.ts';
import { type Sleep, sleep as sleepOnTimer } from './timers.ts';

type Ask<Native, Answer> = (view: RequestView<Native>) => MaybePromise<Answer>;

/** What a gate takes: a limiter, who is limited, and what they are told. */
export interface GateOptions<Native = unknown, Context = unknown> {
  readonly limiter: Limiter<Context>;
  /** Who is limited. Default: `byIp()`. */
  readonly key?: ((view: RequestView<Native>, warn?: Warn) => MaybePromise<string | null | undefined>) | undefined;
  /**
   * The answer when the key says nothing, as when a header is missing: a status from 400 to 499, or a function that is given the answer and
   * may return another. Default: 401; 500 when it is the client's address that is not known.
   */
  readonly missing?: Missing<Native> | undefined;
  /** Units a request spends. Default: 1. */
  readonly cost?: Cost | Ask<Native, Cost> | undefined;
  /** What the limiter's policy function is called with. */
  readonly context?: Ask<Native, Context> | undefined;
  /** Which headers to set, or a function that writes others. Default: 'both'. */
  readonly headers?: HeaderForm | HeaderWriter | undefined;
  /** The policies that may decide, so that headers can tell their windows. Default: what the limiter says it has. */
  readonly policies?: readonly Policy[] | undefined;
  /** Requests to allow uncounted. */
  readonly skip?: Ask<Native, boolean> | undefined;
  /** Called with each denial. A response it returns is sent instead. */
  readonly onDenied?: OnDenied<Native> | undefined;
  /** Called once with each mistake in the setup that traffic shows. Default: a warning of the runtime. */
  readonly onWarning?: OnWarning | undefined;
  /** How to wait for the slot that a shaping policy books. For tests. */
  readonly sleep?: Sleep | undefined;
}

/** Called with the response that would be sent, the request and the result. */
export type OnDenied<Native = unknown> = (
  denial: Denial,
  about: { readonly view: RequestView<Native>; readonly result: RequestResult },
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that only logs gives nothing back.
) => MaybePromise<Denial | undefined | void>;

/** What a request was told, and who it was. */
export interface RequestResult extends RateLimitResult {
  /**
   * Whose request it is, as the key function said: `limiter.refund(result.key, { of: result })`, `limiter.block(result.key, '10m')`. JSON does not
   * show it, because it may be a secret.
   */
  readonly key: string;
}

/** What the adapter has to do. */
export type GateDecision =
  | {
      readonly allowed: true;
      /** For the handlers of the request; undefined when it was skipped. */
      readonly result: RequestResult | undefined;
      /** To set on the response, whatever becomes of it. */
      readonly headers: HeaderValues;
      readonly spent: Spent | undefined;
      /** The place that the request holds, under a policy such as `concurrency`: to be released when it has ended. */
      readonly permit?: Permit | undefined;
    }
  | {
      readonly allowed: false;
      /** Undefined when nobody was asked, because the request does not say who is calling. */
      readonly result: RequestResult | undefined;
      readonly response: Denial;
    };

/** What an allowed request spent and from whom, for those who give it back by the outcome. */
export interface Spent {
  readonly key: string;
  readonly cost: Cost;
  /** What the limiter's policy function was told. */
  readonly context?: unknown;
}

/** Rejects when the key or the cost is not one, and when the store fails: an adapter hands that to its framework as an error. */
export type Gate<Native = unknown> = (view: RequestView<Native>) => Promise<GateDecision>;
/** The same for adapters: decided at once where nothing has to be waited for, and then it throws where a gate rejects. */
export type PromptGate<Native = unknown> = (view: RequestView<Native>) => MaybePromise<GateDecision>;

const OPTIONS = [
  ...['limiter', 'key', 'missing', 'cost', 'context', 'headers', 'policies', 'skip', 'onDenied', 'onWarning', 'sleep'],
] as const;

/**
 * What to do with a request: go on and set headers, or send a response. For servers without an adapter.
 *
 * @example
 * const enter = gate({ limiter, key: byIp() });
 * const decision = await enter({ method: 'GET', path: '/', ip: '203.0.113.7', header: () => undefined });
 */
export function gate<Native = unknown, Context = unknown>(options: GateOptions<Native, Context>): Gate<Native> {
  const enter = gateOf(options, 'gate');
  return async (view) => enter(view);
}

/** The same for adapters, whose users know its options by another path, and who may ask `counting` in a way of their own. */
export function gateOf<Native, Context>(
  options: GateOptions<Native, Context>,
  path: string,
  counting?: object,
): PromptGate<Native> {
  checkOptions(options, path);
  const { limiter, key = byIp(), skip, onDenied, sleep = sleepOnTimer } = options;
  const warn = warnOnce(options.onWarning);
  const policies = policiesOf(options.policies, limiter, path);
  const write = headersOf(options.headers, policies, `${path}.headers`);
  const attemptOptions = attemptOptionsFor(options);
  const noteCounted = watchCounting(counting ?? limiter, warn);
  const answerMissing = missingAnswer(key, options.missing, warn);

  const deny = async (view: RequestView<Native>, result: RequestResult): Promise<GateDecision> => {
    const denial = denialOf(result, view.header('accept'), write(result));
    return {
      allowed: false,
      result,
      response: responseOf(await onDenied?.(denial, { view, result }), 'onDenied(denial)') ?? denial,
    };
  };

  const permitOf = permitsOf(limiter, policies);
  const goOn = (result: RequestResult, spent: Spent, permit: Permit | undefined): MaybePromise<GateDecision> => {
    const decision: GateDecision = { allowed: true, result, headers: write(result), spent, permit };
    return result.delay === null ? decision : sleep(Math.ceil(result.delay * 1e3)).then(() => decision);
  };
  const tell = (
    told: RateLimitResult,
    view: RequestView<Native>,
    key: string,
    how: Attempt<Context>,
  ): MaybePromise<GateDecision> => {
    const result = new KeyedResult(told, key);
    if (!result.allowed) return deny(view, result);
    const spent = { key, cost: how?.cost ?? 1, context: how?.context };
    if (permitOf === undefined) return goOn(result, spent, undefined);
    return proceed(permitOf(spent, result), (permit) => goOn(result, spent, permit));
  };
  const ask = promptAttempt(limiter);
  const enter = (given: unknown, view: RequestView<Native>, how: Attempt<Context>): MaybePromise<GateDecision> => {
    if (saysNothing(given)) return proceed(answerMissing(view), withoutResult);
    checkHttpKey(given);
    noteCounted(view, given);
    return proceedWith(ask(given, how), tell, view, given, how);
  };
  const enterLater = async (view: RequestView<Native>): Promise<GateDecision> => {
    const who = await key(view, warn);
    const isKey = typeof attemptOptions === 'function' && typeof who === 'string' && who !== '';
    return enter(who, view, isKey ? await attemptOptions(view) : (attemptOptions as Attempt<Context>));
  };

  if (skip !== undefined) return async (view) => ((await skip(view)) ? SKIPPED : enterLater(view));
  if (typeof attemptOptions === 'function') return enterLater;
  return (view) => proceedWith(key(view, warn), enter, view, attemptOptions, undefined);
}

/** A result with its key where JSON and logs do not show it: it may be a secret, such as an API key. */
class KeyedResult implements RequestResult {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfter: number | null;
  readonly resetAfter: number;
  readonly resetAt: number;
  readonly delay: number | null;
  readonly policy: string;
  readonly decisions: readonly Decision[];
  readonly source: Source;
  readonly #key: string;

  constructor(told: RateLimitResult, key: string) {
    this.allowed = told.allowed;
    this.limit = told.limit;
    this.remaining = told.remaining;
    this.retryAfter = told.retryAfter;
    this.resetAfter = told.resetAfter;
    this.resetAt = told.resetAt;
    this.delay = told.delay;
    this.policy = told.policy;
    this.decisions = told.decisions;
    this.source = told.source;
    this.#key = key;
  }

  get key(): string {
    return this.#key;
  }
}

/** How the place of a request is found, if there may be one: of policies that a function chooses nobody knows. */
function permitsOf<Context>(
  limiter: Limiter<Context>,
  policies: readonly Policy[],
): ((spent: Spent, result: RateLimitResult) => MaybePromise<Permit | undefined>) | undefined {
  const isChosen = limiter.policies === undefined && policies.length === 0;
  const mayHold = isChosen || policies.some((policy) => ruleOf(policy).permits !== undefined);
  if (!mayHold || typeof limiter.permitOf !== 'function') return undefined;
  return ({ key, cost, context }, result) => (limiter as Limiter).permitOf(key, result, { cost, context });
}

/** The short way of a limiter that has one: a promise costs more than the decision. */
function promptAttempt<Context>(
  limiter: Limiter<Context>,
): (key: string, how: Attempt<Context>) => MaybePromise<RateLimitResult> {
  return limiter.attempt.atOnce ?? ((key, how) => (limiter as Limiter).attempt(key, how));
}

const SKIPPED: GateDecision = Object.freeze({
  allowed: true,
  result: undefined,
  headers: NO_HEADERS,
  spent: undefined,
});

function checkOptions<Native, Context>(options: GateOptions<Native, Context>, path: string): void {
  checkOptionNames(options, OPTIONS, path);
  checkLimiter(options.limiter, `${path}.limiter`);
  for (const name of ['key', 'context', 'skip', 'onDenied', 'onWarning', 'sleep'] as const) {
    checkFunction(options[name], `${path}.${name}`);
  }
  refuseUncalled(options.key, `${path}.key`);
  checkMissing(options.missing, `${path}.missing`);
  if (options.cost !== undefined && typeof options.cost !== 'function') checkCostShape(options.cost, `${path}.cost`);
}

/** Adapters ask before they put something around it. */
export function checkLimiter(limiter: unknown, path: string): void {
  if (typeof (limiter as Limiter | null | undefined)?.attempt === 'function') return;
  throw invalidOption(path, 'a limiter, as createLimiter({ ... }) makes it', Kind.of(limiter));
}

/** Costs by name are checked by the limiter, which has the policies. */
function checkCostShape(cost: unknown, path: string): Cost {
  return isByName(cost) ? (cost as Cost) : checkCost(cost, path);
}

function refuseUncalled(key: unknown, path: string): void {
  const factory = uncalled(key);
  if (factory === undefined) return;
  const message = `${path}: ${factory.name} makes a key and has to be called. Write key: ${factory.call}.`;
  throw new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, message });
}

function headersOf(
  headers: HeaderForm | HeaderWriter | undefined,
  policies: readonly Policy[],
  path: string,
): HeaderWriter {
  return typeof headers === 'function' ? headers : writerOf(policies, formsOf(headers, path));
}

/** Those that were given, or those that a limiter with constant policies says it has. */
function policiesOf(given: unknown, limiter: object, path: string): readonly Policy[] {
  const own = (limiter as { readonly policies?: unknown }).policies;
  return checkPolicies(given === undefined && Array.isArray(own) ? own : given, `${path}.policies`);
}

type Attempt<Context> = AttemptOptions<Context> | undefined;

/** The same object for all requests where nothing depends on the request. */
function attemptOptionsFor<Native, Context>({
  cost,
  context,
}: GateOptions<Native, Context>): Attempt<Context> | Ask<Native, Attempt<Context>> {
  if (typeof cost !== 'function' && context === undefined) return cost === undefined ? undefined : { cost };
  return async (view) => ({
    cost: typeof cost === 'function' ? checkCostShape(await cost(view), 'cost(request)') : cost,
    context: await context?.(view),
  });
}

function withoutResult(response: Denial): GateDecision {
  return { allowed: false, result: undefined, response };
}

function checkHttpKey(key: unknown): asserts key is string {
  if (typeof key === 'string') return;
  throw wrong('SLUICE_INVALID_HTTP_KEY', 'key(request)', 'who is calling, as a string', key);
}
