/**
 * What stands around every shared store as people install it, `redisStore(client)` and `postgresStore(pool)` alike: it keeps answering when the
 * engine does not (health, local fallback), and says "no" again without asking (deny cache). `raw: true` is the bare store.
 */
import { DEFAULT_RETRY_AFTER } from '../layers/circuit-breaker.ts';
import { type DenyCacheOptions, denyCache } from '../layers/deny-cache/deny-cache.ts';
import { type FallbackEvent, fallback, type RecoveredEvent } from '../layers/fallback/fallback.ts';
import { checkShare } from '../layers/fallback/share.ts';
import { callHook, checkHook, type Hook } from '../layers/hooks.ts';
import type { Layer } from '../layers/layered.ts';
import { memoryStore } from '../memory/memory-store.ts';
import { type Clock, monotonicClock, wakeByTimer } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { mistaken } from '../model/errors.ts';
import { checkCount, checkFlag, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Store } from '../model/store.ts';
import type { Health, HealthChange, HealthOptions } from '../store/health.ts';

/** When calls that fail mean that the engine is away. */
export interface BreakerOptions {
  /** So many calls in a row that fail mean that the engine is away. One call is one failure, however many attempts it carries. Default: 5. */
  readonly failures?: number | undefined;
  /** How often the engine is tried in the background while it is away. Default: 500 ms. */
  readonly retryAfter?: Duration | undefined;
  /** Called when the engine goes away (`'open'`) and when it is back (`'closed'`), for each server of a cluster. */
  readonly onStateChange?: Hook<EngineStateChange> | undefined;
}

/** An engine, or a server of it, that went away or came back. `open` means that it is not asked meanwhile. */
export interface EngineStateChange {
  readonly from: 'closed' | 'open';
  readonly to: 'closed' | 'open';
  /** The server, in a cluster. */
  readonly node: string;
  /** Why it is away. */
  readonly error?: unknown;
}

/** What every store of an engine takes for the layers around it. */
export interface LayerOptions {
  /** The bare store: it waits as long as the client does, and rejects when the client does. Default: false. */
  readonly raw?: boolean | undefined;
  /**
   * The engine counts as away when calls wait and nothing at all has come for this long, counted only while this process really ran. Slowness
   * is no outage: as long as replies come, attempts wait for theirs. Default: 250 ms for Redis, 1 s for other engines.
   */
  readonly silence?: Duration | undefined;
  /**
   * The longest an attempt waits for a reply, even while replies to others come. Default: 2 s. A short one such as 50 ms bounds every answer and
   * gives up exactness under load: what is late is answered by this process. `false`: as long as the client waits.
   */
  readonly deadline?: Duration | false | undefined;
  /** When calls that fail mean that the engine is away, and how often it is tried. `false`: failures never do. */
  readonly circuitBreaker?: BreakerOptions | false | undefined;
  /**
   * Who answers when the engine does not. Default: `'local'`, a memory store of this process that goes on from what the engine last said.
   * `false`: nobody, and attempts reject.
   */
  readonly fallback?: 'local' | 'allow' | 'deny' | Store | false | undefined;
  /** The part of each limit that a local fallback may allow. Default: 1. With n processes, 1 / n keeps the sum at the limit. */
  readonly fallbackShare?: number | undefined;
  /** Called once for each outage, with the first error. */
  readonly onFallback?: Hook<FallbackEvent> | undefined;
  /** Called when the engine has answered again. */
  readonly onRecovered?: Hook<RecoveredEvent> | undefined;
  /** Whether an outage is a warning of the runtime, once when it begins and once when it ends. Default: true. */
  readonly warnings?: boolean | undefined;
  /** Repeats denials without asking the engine. `false` turns it off. */
  readonly denyCache?: Omit<DenyCacheOptions, 'clock'> | false | undefined;
  /**
   * `leases()` of `sluice/layers`: hot keys are spent in blocks, without asking for each attempt. The same in every process. Default: none.
   * It is given and not only switched on, so that nobody else carries its code.
   */
  readonly leases?: Layer | undefined;
  /** For tests and simulations. */
  readonly clock?: Clock | undefined;
}

/** Options that have no effect on a bare store. */
export const LAYER_OPTIONS = [
  'silence',
  'deadline',
  'circuitBreaker',
  'fallback',
  'fallbackShare',
  'onFallback',
  'onRecovered',
  'warnings',
  'denyCache',
  'leases',
] as const;

const DEFAULT_DEADLINE = '2s';
const DEFAULT_FAILURES = 5;
const DEFAULT_PROBE_AFTER = '500ms';

/** Everything that is wrong is said of the option as it was written. `name` is the function that took the options. */
export function checkLayerOptions(options: LayerOptions, name: string): void {
  const { circuitBreaker, denyCache, fallback, fallbackShare, leases, warnings } = options;
  checkFlag(warnings, `${name}.warnings`);
  checkHook(options.onFallback, `${name}.onFallback`);
  checkHook(options.onRecovered, `${name}.onRecovered`);
  checkSettings(circuitBreaker, ['failures', 'retryAfter', 'onStateChange'], `${name}.circuitBreaker`);
  checkSettings(denyCache, ['maxKeys', 'maxAge'], `${name}.denyCache`);
  if (leases !== undefined && typeof leases !== 'function') {
    throw invalidOption(`${name}.leases`, 'leases() of sluice/layers, called', leases);
  }
  const isStore = typeof (fallback as Store | undefined)?.ask === 'function';
  if (fallback !== undefined && !isStore && !['local', 'allow', 'deny', false].includes(fallback as string)) {
    throw invalidOption(`${name}.fallback`, "'local', 'allow', 'deny', a store or false", fallback);
  }
  if (fallbackShare === undefined) return;
  checkShare(fallbackShare, `${name}.fallbackShare`);
  if (fallback === 'allow' || fallback === 'deny' || fallback === false) {
    throw invalidOption(`${name}.fallbackShare`, `no share beside fallback: ${fallback}`, fallbackShare);
  }
}

function checkSettings(settings: unknown, names: readonly string[], path: string): void {
  if (settings === undefined || settings === false) return;
  if (typeof settings !== 'object' || settings === null) {
    throw invalidOption(path, `false, or an object with ${names.join(', ')}`, settings);
  }
  checkOptionNames(settings, names, path);
}

/** Beside `raw: true` none of the options of layers means anything. */
export function refuseLayerOptions(options: object, names: readonly string[], name: string): void {
  const unused = names.find((option) => (options as Readonly<Record<string, unknown>>)[option] !== undefined);
  if (unused === undefined) return;
  throw mistaken(
    'SLUICE_INVALID_OPTION',
    `${name}.${unused}`,
    `${name}: \`${unused}\` has no effect with \`raw: true\`, which is the bare store without layers. Remove one of the two.`,
  );
}

/** What the health of the engine goes by. `silence` is the default for this engine. */
export function healthOptionsOf(options: LayerOptions, name: string, silence: Duration): HealthOptions {
  const { deadline = DEFAULT_DEADLINE } = options;
  const breaker = options.circuitBreaker === false ? undefined : (options.circuitBreaker ?? {});
  const deadlineMs = deadline === false ? Number.POSITIVE_INFINITY : parseDuration(deadline, `${name}.deadline`);
  const silenceMs = parseDuration(options.silence ?? silence, `${name}.silence`);
  const failures = checkCount(breaker?.failures ?? DEFAULT_FAILURES, `${name}.circuitBreaker.failures`);
  return {
    silenceMs: deadline === false ? Number.POSITIVE_INFINITY : Math.min(silenceMs, deadlineMs),
    deadlineMs,
    failures: breaker === undefined ? Number.POSITIVE_INFINITY : failures,
    retryMs: parseDuration(breaker?.retryAfter ?? DEFAULT_PROBE_AFTER, `${name}.circuitBreaker.retryAfter`),
    clock: options.clock ?? monotonicClock,
    wakeAfter: wakeByTimer,
    isConnecting: () => false,
    nodeOf: () => '',
    onChange: (change) => callHook(breaker?.onStateChange, stateChangeOf(change)),
  };
}

function stateChangeOf({ isAway, node, error }: HealthChange): EngineStateChange {
  return isAway ? { from: 'closed', to: 'open', node, error } : { from: 'open', to: 'closed', node };
}

/** From the inside out. */
export function layersOf(options: LayerOptions, health: Health): Layer[] {
  const { clock, fallback: to = 'local', fallbackShare, onFallback, onRecovered, warnings, leases } = options;
  const timed = clock === undefined ? {} : { clock };
  return [
    ...(leases === undefined ? [] : [leases]),
    ...(to === false
      ? []
      : [
          fallback({
            ...timed,
            to: to === 'local' ? memoryStore(timed) : to,
            share: fallbackShare,
            retryAfter: retryAfterOf(options),
            onFallback,
            onRecovered,
            warnings,
            isBack: () => health.isWell,
          }),
        ]),
    ...(options.denyCache === false ? [] : [denyCache({ ...timed, ...options.denyCache })]),
  ];
}

/** Those who are denied only because the engine is away may come back when it is tried again. */
function retryAfterOf({ circuitBreaker }: LayerOptions): Duration {
  return (circuitBreaker === false ? undefined : circuitBreaker?.retryAfter) ?? DEFAULT_RETRY_AFTER;
}
