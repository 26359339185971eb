/**
 * What `redisStore(client)` is by itself: the store over Redis with everything around it that keeps a service answering when Redis does not
 * (health, local fallback), and that says "no" again without asking (deny cache). `raw: true` is the bare store.
 */
import { DEFAULT_RETRY_AFTER } from '../layers/circuit-breaker.ts';
import { type DenyCacheOptions, denyCache } from '../layers/deny-cache/deny-cache.ts';
import { type FallbackEvent, fallback, type RecoveredEvent } from '../layers/fallback/fallback.ts';
import { checkShare } from '../layers/fallback/share.ts';
import { callHook, checkHook, type Hook } from '../layers/hooks.ts';
import { type Layer, layered } from '../layers/layered.ts';
import { memoryStore } from '../memory/memory-store.ts';
import { monotonicClock } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { checkCount, checkFlag, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Place, Store } from '../model/store.ts';
import { wakeByTimer } from '../model/timer.ts';
import { watchOf } from '../redis/clients/client-watch.ts';
import type { Connection } from '../redis/clients/connection.ts';
import { Health, type HealthChange } from '../redis/health.ts';
import { DEFAULT_PREFIX } from '../redis/keys.ts';
import { type RedisStoreOptions, redisStoreOver } from '../redis/redis-store.ts';
import { type RunScript, type SendCommand, scriptRunner } from '../redis/run-script.ts';
import { announcer } from './announce.ts';

/** When commands that fail mean that Redis is away. */
export interface RedisBreakerOptions {
  /** So many commands in a row that fail mean that Redis is away. One command is one failure, however many attempts it carries. Default: 5. */
  readonly failures?: number | undefined;
  /** How often Redis is tried in the background while it is away. Default: 500 ms. */
  readonly retryAfter?: Duration | undefined;
  /** Called when Redis goes away (`'open'`) and when it is back (`'closed'`), for each server of a cluster. */
  readonly onStateChange?: Hook<RedisStateChange> | undefined;
}

/** A server that went away or came back. `open` means that it is not asked meanwhile. */
export interface RedisStateChange {
  readonly from: 'closed' | 'open';
  readonly to: 'closed' | 'open';
  /** The server, in a cluster. */
  readonly node: string;
  /** Why it is away. */
  readonly error?: unknown;
}

/** How many replicas must have a decision before it is answered. */
export interface WaitForReplicas {
  readonly replicas: number;
  /** How long they may take. An attempt they have not confirmed by then counts as not answered by Redis. Default: 100 ms. */
  readonly timeout?: Duration | undefined;
}

/** What `redisStore` takes besides its client. */
export interface RedisOptions extends RedisStoreOptions {
  /** The bare store: it waits as long as the client does, and rejects when the client does. Default: false. */
  readonly raw?: boolean | undefined;
  /**
   * Redis counts as away when commands wait and nothing at all has come for this long, counted only while this process really ran. Slowness is
   * no outage: as long as replies come, attempts wait for theirs. Default: 250 ms.
   */
  readonly silence?: Duration | undefined;
  /**
   * The longest an attempt waits for Redis, even while replies to others come. Default: 2 s. A short one such as 50 ms bounds every answer and
   * gives up exactness under load: what is late is answered by this process. `false`: as long as the client waits.
   */
  readonly deadline?: Duration | false | undefined;
  /** When commands that fail mean that Redis is away, and how often it is tried. `false`: failures never do. */
  readonly circuitBreaker?: RedisBreakerOptions | false | undefined;
  /**
   * Who answers when Redis does not. Default: `'local'`, a memory store of this process that goes on from what Redis last said. `false`: nobody,
   * and attempts reject.
   */
  readonly fallback?: 'local' | 'allow' | 'deny' | Store | false | undefined;
  /** The part of each limit that a local fallback may allow. Default: 1. With n processes, 1 / n keeps the sum at the limit. */
  readonly fallbackShare?: number | undefined;
  /** Called once for each outage, with the first error. */
  readonly onFallback?: Hook<FallbackEvent> | undefined;
  /** Called when Redis has answered again. */
  readonly onRecovered?: Hook<RecoveredEvent> | undefined;
  /** Whether an outage is a warning of the runtime, once when it begins and once when it ends. Default: true. */
  readonly warnings?: boolean | undefined;
  /** Repeats denials without asking Redis. `false` turns it off. */
  readonly denyCache?: Omit<DenyCacheOptions, 'clock'> | false | undefined;
  /**
   * `leases()` of `sluice/layers`: hot keys are spent in blocks, without asking for each attempt. The same in every process. Default: none.
   * It is given and not only switched on, so that nobody else carries its code.
   */
  readonly leases?: Layer | undefined;
  /** Answers only once so many replicas have the decision (`WAIT`), so that a failover forgets nothing. One more round trip. Default: none. */
  readonly wait?: WaitForReplicas | undefined;
}

const LAYER_OPTIONS = [
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
  'wait',
] as const;

const DEFAULT_SILENCE = '250ms';
const DEFAULT_DEADLINE = '2s';
const DEFAULT_FAILURES = 5;
const DEFAULT_PROBE_AFTER = '500ms';
const DEFAULT_WAIT = '100ms';

export function redisStoreWith(connection: Connection, options: RedisOptions): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock', 'raw', ...LAYER_OPTIONS], 'redisStore');
  const { prefix, hashKeys, clock, raw = false } = options;
  checkFlag(raw, 'redisStore.raw');
  const ofStates = { prefix, hashKeys, clock };
  watchOf(connection.client);
  if (raw) {
    refuseLayerOptions(options);
    return redisStoreOver(
      scriptRunner(connection.send),
      ofStates,
      connection.batches,
      placeOf(connection.client, prefix),
    );
  }
  checkKinds(options);
  const health = healthOf(connection, options);
  const run = waiting(scriptRunner(health.send), health.send, connection, options.wait);
  const bare = redisStoreOver(run, ofStates, connection.batches, placeOf(connection.client, prefix, run));
  return layered(bare, ...layersOf(options, health));
}

/** Everything that is wrong is said of the option as it was written. */
function checkKinds(options: RedisOptions): void {
  const { circuitBreaker, denyCache, fallback, fallbackShare, leases, warnings, wait } = options;
  checkFlag(warnings, 'redisStore.warnings');
  checkHook(options.onFallback, 'redisStore.onFallback');
  checkHook(options.onRecovered, 'redisStore.onRecovered');
  checkSettings(circuitBreaker, ['failures', 'retryAfter', 'onStateChange'], 'redisStore.circuitBreaker');
  checkSettings(denyCache, ['maxKeys', 'maxAge'], 'redisStore.denyCache');
  if (wait !== undefined) checkOptionNames(wait, ['replicas', 'timeout'], 'redisStore.wait');
  if (leases !== undefined && typeof leases !== 'function') {
    throw invalidOption('redisStore.leases', 'leases() of sluice/layers, called', leases);
  }
  const isStore = typeof (fallback as Store | undefined)?.ask === 'function';
  if (fallback !== undefined && !isStore && !['local', 'allow', 'deny', false].includes(fallback as string)) {
    throw invalidOption('redisStore.fallback', "'local', 'allow', 'deny', a store or false", fallback);
  }
  if (fallbackShare === undefined) return;
  checkShare(fallbackShare, 'redisStore.fallbackShare');
  if (fallback === 'allow' || fallback === 'deny' || fallback === false) {
    throw invalidOption('redisStore.fallbackShare', `no share beside fallback: ${fallback}`, fallbackShare);
  }
}

function checkSettings(settings: unknown, names: readonly string[], path: string): void {
  if (settings === undefined || settings === false) return;
  if (typeof settings !== 'object' || settings === null) {
    throw invalidOption(path, `false, or an object with ${names.join(', ')}`, settings);
  }
  checkOptionNames(settings, names, path);
}

function refuseLayerOptions(options: RedisOptions): void {
  const unused = LAYER_OPTIONS.find((name) => options[name] !== undefined);
  if (unused === undefined) return;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: `redisStore.${unused}`,
    message: `redisStore: \`${unused}\` has no effect beside \`raw: true\`, which is the bare store without any layer. Leave one of the two out.`,
  });
}

/** Stores over one client with one prefix keep the same states. */
const places = new WeakMap<object, Map<string, Place>>();

function placeOf(client: object, prefix: string | undefined, run?: RunScript): Place {
  const byPrefix = places.get(client) ?? new Map<string, Place>();
  places.set(client, byPrefix);
  const name = prefix ?? DEFAULT_PREFIX;
  const known = byPrefix.get(name);
  if (known !== undefined) return known;
  const announces = prefix === undefined && run !== undefined;
  const place = announces ? { isShared: true, announce: announcer(run, name) } : { isShared: true };
  byPrefix.set(name, place);
  return place;
}

function healthOf(connection: Connection, options: RedisOptions): Health {
  const { silence = DEFAULT_SILENCE, deadline = DEFAULT_DEADLINE } = options;
  const breaker = options.circuitBreaker === false ? undefined : (options.circuitBreaker ?? {});
  const deadlineMs = deadline === false ? Number.POSITIVE_INFINITY : parseDuration(deadline, 'redisStore.deadline');
  const silenceMs = parseDuration(silence, 'redisStore.silence');
  const failures = checkCount(breaker?.failures ?? DEFAULT_FAILURES, 'redisStore.circuitBreaker.failures');
  const health = new Health(connection.send, {
    silenceMs: deadline === false ? Number.POSITIVE_INFINITY : Math.min(silenceMs, deadlineMs),
    deadlineMs,
    failures: breaker === undefined ? Number.POSITIVE_INFINITY : failures,
    retryMs: parseDuration(breaker?.retryAfter ?? DEFAULT_PROBE_AFTER, 'redisStore.circuitBreaker.retryAfter'),
    clock: options.clock ?? monotonicClock,
    wakeAfter: wakeByTimer,
    isConnecting: connection.isConnecting,
    nodeOf: connection.nodeOf,
    onChange: (change) => callHook(breaker?.onStateChange, stateChangeOf(change)),
  });
  watchOf(connection.client).onFailure((error) => health.clientFailed(error));
  return health;
}

function stateChangeOf({ isAway, node, error }: HealthChange): RedisStateChange {
  return isAway ? { from: 'closed', to: 'open', node, error } : { from: 'open', to: 'closed', node };
}

/** From the inside out. */
function layersOf(options: RedisOptions, health: Health): Layer[] {
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

/** Those who are denied only because Redis is away may come back when it is tried again. */
function retryAfterOf({ circuitBreaker }: RedisOptions): Duration {
  return (circuitBreaker === false ? undefined : circuitBreaker?.retryAfter) ?? DEFAULT_RETRY_AFTER;
}

/** Answers once enough replicas have confirmed. */
function waiting(
  run: RunScript,
  send: SendCommand,
  { canWait }: Connection,
  wait: WaitForReplicas | undefined,
): RunScript {
  if (wait === undefined) return run;
  const replicas = checkCount(wait.replicas, 'redisStore.wait.replicas');
  const timeoutMs = Math.ceil(parseDuration(wait.timeout ?? DEFAULT_WAIT, 'redisStore.wait.timeout'));
  if (!canWait)
    throw invalidOption(
      'redisStore.wait',
      'none: an ioredis Cluster cannot send WAIT to one of its servers',
      new Kind('one'),
    );
  return async (script, keys, args) => {
    const reply = await run(script, keys, args);
    const confirmed = Number(await send(['WAIT', String(replicas), String(timeoutMs)], keys[0] ?? ''));
    if (confirmed >= replicas) return reply;
    throw new SluiceError({
      code: 'SLUICE_TIMEOUT',
      path: 'store',
      message: `Only ${confirmed} of ${replicas} replicas confirmed the decision within ${timeoutMs} ms. It was counted all the same.`,
    });
  };
}
