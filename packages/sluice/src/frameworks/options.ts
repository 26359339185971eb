/**
 * What `rateLimit` takes in every framework, and what becomes of it: an entrance. Limits are made and checked here, where a
 * route is set up; a request only passes.
 */
import { type GateOptions, gateOf, type OnDenied, type PromptGate } from '../http/gate.ts';
import { invalidOption } from '../http/options.ts';
import type { RequestView } from '../http/request-view.ts';
import type { Warn } from '../http/warnings.ts';
import { createLimiter } from '../index.ts';
import type { Limiter, PolicyChoice } from '../limiter/limiter.ts';
import { Kind, type SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import type { MaybePromise, Store } from '../model/store.ts';
import { warnOfCluster } from './cluster.ts';
import { countedAs } from './counting.ts';
import { type Conclude, conclusionOf, OUTCOME_OPTIONS, type OutcomeOptions, reserving } from './outcome.ts';

/** A view of a request as a framework's adapter makes it: it always has the framework's own request. */
export interface NativeView<Native> extends RequestView<Native> {
  readonly native: Native;
}

type Ask<Native, Answer> = (view: NativeView<Native>) => MaybePromise<Answer>;

export interface RateLimitOptions<Native, Context = unknown>
  extends OutcomeOptions<Native>,
    Pick<GateOptions, 'headers' | 'onWarning' | 'sleep'> {
  /** Asked once for each request. Or give `policy` or `policies`, for a limit in the memory of this process. */
  readonly limiter?: Limiter<Context> | undefined;
  readonly policy?: Policy | PolicyChoice<Context> | undefined;
  /** Several at once. Beside a `limiter`: those that may decide, so that headers can tell their windows. */
  readonly policies?: readonly Policy[] | undefined;
  /** Who is limited. Default: `byIp()`. */
  readonly key?: ((view: NativeView<Native>, warn?: Warn) => MaybePromise<string | undefined>) | undefined;
  /** Units a request spends; with `settle`, those it is expected to. Default: 1. */
  readonly cost?: number | Ask<Native, number> | undefined;
  /** What a policy function is told. */
  readonly context?: Ask<Native, Context> | undefined;
  /** Requests to let through uncounted. */
  readonly skip?: Ask<Native, boolean> | undefined;
  /** Told of each denial; a response it gives is sent instead. */
  readonly onDenied?: OnDenied<Native> | undefined;
}

/** The gate of a route, and what is to be told of how its requests end. */
export interface Entrance<Native> {
  readonly enter: PromptGate<Native>;
  /** Undefined when nobody wants to know. */
  readonly conclude: Conclude<Native> | undefined;
}

const GATE_OPTIONS = ['key', 'cost', 'context', 'headers', 'skip', 'onDenied', 'onWarning', 'sleep'] as const;
const OPTIONS = ['limiter', 'policy', 'policies', ...GATE_OPTIONS, ...OUTCOME_OPTIONS] as const;

export function checkRateLimitOptions(options: object, path: string, own: readonly string[] = []): void {
  checkOptionNames(options, [...OPTIONS, ...own], path);
}

export interface EntranceSetup {
  /** How the user calls what is set up here. */
  readonly path?: string | undefined;
  /** Options of the adapter itself. */
  readonly own?: readonly string[] | undefined;
  /** Where limits given by policy keep their state. Default: a memory store of their own. */
  readonly store?: Store | undefined;
}

export function entranceOf<Native, Context>(
  options: RateLimitOptions<Native, Context>,
  { path = 'rateLimit', own = [], store }: EntranceSetup = {},
): Entrance<Native> {
  checkRateLimitOptions(options, path, own);
  const limiter = limiterOf(options, path, store);
  const conclude = conclusionOf(options, limiter, path);
  const gateOptions = pick(options, GATE_OPTIONS) as unknown as GateOptions<Native, Context>;
  const policies = options.policies ?? constantPolicy(options.policy);
  const asked = options.settle === undefined ? limiter : reserving(limiter, options.settleWithin);
  return { enter: gateOf({ ...gateOptions, policies, limiter: asked }, path, countedAs(limiter)), conclude };
}

function limiterOf<Native, Context>(
  { limiter, policy, policies, onWarning }: RateLimitOptions<Native, Context>,
  path: string,
  store: Store | undefined,
): Limiter<Context> {
  if (limiter !== undefined && policy !== undefined) throw oneOfThem(path, 'a limiter and a policy');
  if ((limiter ?? policy ?? policies) === undefined) throw oneOfThem(path, 'none of them');
  const chosen = limiter ?? createLimiter({ policy, policies, store });
  warnOfCluster(chosen, `${path}.${limiter === undefined ? 'policy' : 'limiter'}`, onWarning);
  return chosen;
}

function oneOfThem(path: string, given: string): SluiceError {
  return invalidOption(path, 'a limiter, or policy or policies to make one of', new Kind(given));
}

/** For the headers. One that is chosen by a function is not known before it is. */
function constantPolicy(policy: unknown): readonly Policy[] | undefined {
  return typeof policy === 'object' && policy !== null ? [policy as Policy] : undefined;
}

function pick<Options extends object, Name extends keyof Options>(options: Options, names: readonly Name[]): object {
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}
