/**
 * The middle of every adapter: a request view in, what to do out. The gate decides and writes; it sends nothing. An adapter makes
 * the view, sets the headers it is given before the response exists, and either goes on or sends the response it is given.
 * Everything that can be known or refused beforehand is, when the gate is made.
 */
import type { AttemptOptions, Limiter } from '../limiter/limiter.ts';
import { checkCost } from '../model/attempt.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { Kind, type Mistake, SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import type { MaybePromise } from '../model/store.ts';
import { byIp } from './by-ip.ts';
import { type Denial, denialOf } from './denial.ts';
import {
  checkPolicies,
  formsOf,
  type HeaderForm,
  type HeaderValues,
  type HeaderWriter,
  NO_HEADERS,
  writerOf,
} from './headers.ts';
import { checkFunction, invalidOption } from './options.ts';
import type { RequestView } from './request-view.ts';
import { type Sleep, sleep as sleepOnTimer } from './timers.ts';
import { type OnWarning, type Warn, warnOnce } from './warnings.ts';

type Ask<Native, Answer> = (view: RequestView<Native>) => MaybePromise<Answer>;

export interface GateOptions<Native = unknown, Context = unknown> {
  readonly limiter: Limiter<Context>;
  /** Who is limited. Default: `byIp()`. */
  readonly key?: ((view: RequestView<Native>, warn?: Warn) => MaybePromise<string | undefined>) | undefined;
  /** Units a request spends. Default: 1. */
  readonly cost?: number | Ask<Native, number> | undefined;
  /** What the limiter's policy function is told. */
  readonly context?: Ask<Native, Context> | undefined;
  /** Which headers to set, or a function that writes others. Default: 'draft'. */
  readonly headers?: HeaderForm | HeaderWriter | undefined;
  /** The policies that may decide, so that headers can tell their windows. Default: what the limiter says it has. */
  readonly policies?: readonly Policy[] | undefined;
  /** Requests to let through uncounted. */
  readonly skip?: Ask<Native, boolean> | undefined;
  /** Told of each denial; a response it gives is sent instead. */
  readonly onDenied?: OnDenied<Native> | undefined;
  /** Told once of each mistake in the setup that traffic shows. Default: a warning of the runtime. */
  readonly onWarning?: OnWarning | undefined;
  /** How to wait for the slot that a shaping policy books. For tests. */
  readonly sleep?: Sleep | undefined;
}

export type OnDenied<Native = unknown> = (
  denial: Denial,
  about: { readonly view: RequestView<Native>; readonly result: RateLimitResult },
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that only logs gives nothing back.
) => MaybePromise<Denial | undefined | void>;

/** What the adapter has to do. */
export type GateDecision =
  | {
      readonly allowed: true;
      /** For the handlers of the request; undefined when it was skipped. */
      readonly result: RateLimitResult | undefined;
      /** To set on the response, whatever becomes of it. */
      readonly headers: HeaderValues;
      readonly spent: Spent | undefined;
    }
  | { readonly allowed: false; readonly result: RateLimitResult; readonly response: Denial };

/** What an allowed request spent and from whom, for those who give it back by the outcome. */
export interface Spent {
  readonly key: string;
  readonly cost: number;
  /** What the limiter's policy function was told. */
  readonly context?: unknown;
}

/** Rejects when the key or the cost is none, and when the store fails: an adapter hands that to its framework as an error. */
export type Gate<Native = unknown> = (view: RequestView<Native>) => Promise<GateDecision>;
/** The same for adapters: decided at once where nothing has to be waited for, and then it throws where a gate rejects. */
export type PromptGate<Native = unknown> = (view: RequestView<Native>) => MaybePromise<GateDecision>;

const OPTIONS = [
  ...['limiter', 'key', 'cost', 'context', 'headers', 'policies', 'skip', 'onDenied', 'onWarning', 'sleep'],
] as const;

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
  const write = headersOf(options.headers, policiesOf(options.policies, limiter, path), `${path}.headers`);
  const attemptOptions = attemptOptionsFor(options);
  const noteCounted = doubleCountWatch(counting ?? limiter, warn);

  const deny = async (view: RequestView<Native>, result: RateLimitResult): Promise<GateDecision> => {
    const denial = denialOf(result, view.header('accept'), write(result));
    return { allowed: false, result, response: responseOf(await onDenied?.(denial, { view, result })) ?? denial };
  };

  const tell = (view: RequestView<Native>, spent: Spent, result: RateLimitResult): MaybePromise<GateDecision> => {
    if (!result.allowed) return deny(view, result);
    const decision: GateDecision = { allowed: true, result, headers: write(result), spent };
    return result.delay === null ? decision : sleep(Math.ceil(result.delay * 1e3)).then(() => decision);
  };
  const ask = promptAttempt(limiter);
  const enter = (view: RequestView<Native>, key: string, how: Attempt<Context>): MaybePromise<GateDecision> => {
    noteCounted(view, key);
    const result = ask(key, how);
    const spent = { key, cost: how?.cost ?? 1, context: how?.context };
    return isPromise(result) ? result.then((told) => tell(view, spent, told)) : tell(view, spent, result);
  };
  const enterLater = async (view: RequestView<Native>, given = key(view, warn)): Promise<GateDecision> => {
    const who = checkHttpKey(await given);
    return enter(view, who, typeof attemptOptions === 'function' ? await attemptOptions(view) : attemptOptions);
  };

  if (skip !== undefined) return async (view) => ((await skip(view)) ? SKIPPED : enterLater(view));
  if (typeof attemptOptions === 'function') return (view) => enterLater(view);
  return (view) => {
    const given = key(view, warn);
    return isPromise(given) ? enterLater(view, given) : enter(view, checkHttpKey(given), attemptOptions);
  };
}

/** The short way of a limiter that has one: a promise costs more than the decision. */
function promptAttempt<Context>(
  limiter: Limiter<Context>,
): (key: string, how: Attempt<Context>) => MaybePromise<RateLimitResult> {
  return limiter.attempt.atOnce ?? ((key, how) => limiter.attempt(key, how));
}

const SKIPPED: GateDecision = Object.freeze({
  allowed: true,
  result: undefined,
  headers: NO_HEADERS,
  spent: undefined,
});

function checkOptions<Native, Context>(options: GateOptions<Native, Context>, path: string): void {
  checkOptionNames(options, OPTIONS, path);
  if (typeof options.limiter?.attempt !== 'function') {
    throw invalidOption(`${path}.limiter`, 'a limiter, as createLimiter({ ... }) makes it', Kind.of(options.limiter));
  }
  for (const name of ['key', 'context', 'skip', 'onDenied', 'onWarning', 'sleep'] as const) {
    checkFunction(options[name], `${path}.${name}`);
  }
  if (options.cost !== undefined && typeof options.cost !== 'function') checkCost(options.cost, `${path}.cost`);
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
    cost: typeof cost === 'function' ? checkCost(await cost(view), 'cost(request)') : cost,
    context: await context?.(view),
  });
}

function checkHttpKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key;
  throw new SluiceError({
    code: 'SLUICE_INVALID_HTTP_KEY',
    path: 'key(request)',
    expected: 'who is calling, as a string that is not empty',
    got: key,
  });
}

/**
 * What `onDenied` gave to be sent, undefined when that is nothing. A function that only counts may give a number back, which is no
 * response; what looks like one and cannot be sent is a mistake, or frameworks would each make something else of it, one of them a 204.
 */
function responseOf(given: unknown): Denial | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { status, headers, body } = given as Partial<Denial>;
  const hasStatus = Number.isInteger(status) && status! >= 200 && status! <= 599;
  if (hasStatus && typeof headers === 'object' && headers !== null && typeof body === 'string') return given as Denial;
  throw invalidOption('onDenied(denial)', 'nothing, or { status, headers, body } with a body that is text', given);
}

/** Which requests were counted by a limiter, and for whom: two gates over one limiter in one chain are a mistake. */
const countedBy = new WeakMap<object, WeakMap<object, string>>();
/** A chain that counts twice does so from its first request on, so there is no need to watch forever. */
const WATCHED_REQUESTS = 1000;

function doubleCountWatch(limiter: object, warn: Warn): (view: RequestView, key: string) => void {
  const counted = countedBy.get(limiter) ?? new WeakMap<object, string>();
  countedBy.set(limiter, counted);
  let left = WATCHED_REQUESTS;
  return (view, key) => {
    if (left === 0) return;
    left--;
    const request = typeof view.native === 'object' && view.native !== null ? view.native : view;
    if (counted.get(request) === key) warn(COUNTED_TWICE);
    counted.set(request, key);
  };
}

const COUNTED_TWICE: Mistake = {
  code: 'SLUICE_COUNTED_TWICE',
  path: 'gate.limiter',
  expected: 'to count each request once',
  got: new Kind('the same request again, for the same key'),
};
