/**
 * What `rateLimit` takes in every framework, and what becomes of it: an entrance. Limits are made and checked here, where a
 * route is set up; a request only passes.
 */
import { checkLimiter, type GateOptions, gateOf, type OnDenied, type PromptGate } from '../http/gate.ts';
import type { Missing } from '../http/missing.ts';
import type { RequestView } from '../http/request-view.ts';
import type { PolicyChoice } from '../limiter/core.ts';
import type { Cost } from '../limiter/costs.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { checkStore, type Store } from '../model/store.ts';
import type { Warn } from '../model/warnings.ts';
import { type CreateLimiterOptions, createLimiter } from '../presets/create-limiter.ts';
import { warnOfCluster } from './cluster.ts';
import { countedAs } from './counting.ts';
import { mistake, refuseOtherNames, refuseWithoutBraces } from './other-names.ts';
import { type Conclude, conclusionOf, OUTCOME_OPTIONS, type OutcomeOptions, reserving } from './outcome.ts';

/** A view of a request as a framework's adapter makes it: it always has the framework's own request. */
export interface NativeView<Native> extends RequestView<Native> {
  readonly native: Native;
}

type Ask<Native, Answer> = (view: NativeView<Native>) => MaybePromise<Answer>;

/** The options of `rateLimit` in every framework. */
export interface RateLimitOptions<Native, Context = unknown>
  extends OutcomeOptions<Native>,
    Pick<GateOptions, 'headers' | 'onWarning' | 'sleep'> {
  /** Asked once for each request. Or give `policy` or `policies`, and the limiter is made for you. */
  readonly limiter?: Limiter<Context> | undefined;
  /** The limit, as in `slidingWindowCounter({ limit: 100, window: '1m' })`, or a function that chooses one by `context`. */
  readonly policy?: Policy | PolicyChoice<Context> | undefined;
  /** Several policies: a request spends from all of them or from none. Beside a `limiter` that chooses: all it may choose from, for the headers. */
  readonly policies?: readonly Policy[] | undefined;
  /** Where limits that are given as policies keep their state, as in `redisStore(client)`. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** Who is limited. Default: `byIp()`. */
  readonly key?: ((view: NativeView<Native>, warn?: Warn) => MaybePromise<string | null | undefined>) | undefined;
  /**
   * The answer when the key says nothing, as when a header is missing: a status from 400 to 499, or a function that is given the answer and
   * may return another. Default: 401; 500 when it is the client's address that is not known.
   */
  readonly missing?: Missing<Native> | undefined;
  /** Units a request spends; with `settle`, those it is expected to. Default: 1. */
  readonly cost?: Cost | Ask<Native, Cost> | undefined;
  /** What a policy function is called with. */
  readonly context?: Ask<Native, Context> | undefined;
  /** Requests to allow uncounted. */
  readonly skip?: Ask<Native, boolean> | undefined;
  /** Called with each denial. A response it returns, `{ status, headers, body }`, is sent instead. */
  readonly onDenied?: OnDenied<Native> | undefined;
}

/** The gate of a route, and what is to be done when its requests end. */
export interface Entrance<Native> {
  readonly enter: PromptGate<Native>;
  /** Undefined when nobody wants to know. */
  readonly conclude: Conclude<Native> | undefined;
}

const GATE_OPTIONS = [
  'key',
  'missing',
  'cost',
  'context',
  'headers',
  'skip',
  'onDenied',
  'onWarning',
  'sleep',
] as const;
const OPTIONS = ['limiter', 'policy', 'policies', 'store', ...GATE_OPTIONS, ...OUTCOME_OPTIONS] as const;

export function checkRateLimitOptions(options: object, path: string, own: readonly string[] = []): void {
  const known = [...OPTIONS, ...own];
  refuseWithoutBraces(options, path);
  refuseOtherNames(options, known, path);
  checkOptionNames(options, known, path);
}

export interface EntranceSetup {
  /** How the user calls what is set up here. */
  readonly path?: string | undefined;
  /** Options of the adapter itself. */
  readonly own?: readonly string[] | undefined;
  /** Where limits given by policy keep their state, unless they say so themselves. Default: a memory store of their own. */
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
  { limiter, policy, policies, store, onWarning }: RateLimitOptions<Native, Context>,
  path: string,
  commonStore: Store | undefined,
): Limiter<Context> {
  if ((limiter ?? policy ?? policies) === undefined) throw mistake(path, `${path}: there is no limit. ${HOW_TO_LIMIT}`);
  if (limiter !== undefined && policy !== undefined) {
    throw mistake(path, `${path}: a limiter has its policy already. Give it a \`limiter\` or a \`policy\`, not both.`);
  }
  if (limiter !== undefined && store !== undefined) {
    throw mistake(
      `${path}.store`,
      `${path}: a limiter has its store already. Give the store to createLimiter({ policy, store }).`,
    );
  }
  if (limiter !== undefined) checkLimiter(limiter, `${path}.limiter`);
  const own = store === undefined ? commonStore : checkStore(store, `${path}.store`);
  const chosen = limiter ?? createLimiter({ policy, policies, store: own } as CreateLimiterOptions<Context>);
  warnOfCluster(chosen, `${path}.${limiter === undefined ? 'policy' : 'limiter'}`, onWarning);
  return chosen;
}

const HOW_TO_LIMIT =
  "Give it a policy, as in policy: slidingWindowCounter({ limit: 100, window: '1m' }), or a limiter.";

/** For the headers. One that is chosen by a function is not known before it is. */
function constantPolicy(policy: unknown): readonly Policy[] | undefined {
  return typeof policy === 'object' && policy !== null ? [policy as Policy] : undefined;
}

function pick<Options extends object, Name extends keyof Options>(options: Options, names: readonly Name[]): object {
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}
