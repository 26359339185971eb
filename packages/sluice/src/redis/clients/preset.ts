/**
 * What `redisStore(client)` is by itself: the store over Redis with everything around it that keeps a service answering when Redis
 * does not (deadline, circuit breaker, local fallback), and that says "no" again without asking (deny cache). `raw: true` is the bare store.
 */
import type { CircuitBreakerOptions } from '../../layers/circuit-breaker.ts';
import type { DenyCacheOptions } from '../../layers/deny-cache.ts';
import type { FallbackEvent, FallbackOptions, RecoveredEvent } from '../../layers/fallback.ts';
import type { Hook } from '../../layers/hooks.ts';
import { type Layer, layered } from '../../layers/layered.ts';
import { type ResilientOptions, resilient } from '../../layers/resilient.ts';
import { memoryStore } from '../../memory/memory-store.ts';
import type { Duration } from '../../model/duration.ts';
import { Kind, SluiceError } from '../../model/errors.ts';
import { checkOptionNames } from '../../model/options.ts';
import type { Store } from '../../model/store.ts';
import type { BatchOptions } from '../batch.ts';
import { type RedisStoreOptions, redisStoreOver } from '../redis-store.ts';
import type { RunScript } from '../run-script.ts';

export interface RedisOptions extends RedisStoreOptions {
  /** The bare store: it waits as long as the client does, and rejects when the client does. */
  readonly raw?: boolean | undefined;
  /** How long Redis may take to answer. Default: 50 ms. `false`: as long as the client waits. */
  readonly deadline?: Duration | false | undefined;
  /** When Redis is left alone, and for how long. Default: after 5 failures in a row, for 1 s. */
  readonly circuitBreaker?: Omit<CircuitBreakerOptions, 'clock'> | false | undefined;
  /** Who answers when Redis does not. Default: `'local'`, a memory store of this process with the full limit. */
  readonly fallback?: 'local' | 'allow' | 'deny' | Store | undefined;
  /** The part of each limit that a local fallback may grant. Default: 1. With n processes, 1 / n keeps the sum at the limit. */
  readonly fallbackShare?: number | undefined;
  /** Told once for each outage, with the first error. */
  readonly onFallback?: Hook<FallbackEvent> | undefined;
  /** Told when Redis has answered again. */
  readonly onRecovered?: Hook<RecoveredEvent> | undefined;
  readonly denyCache?: Omit<DenyCacheOptions, 'clock'> | false | undefined;
  /**
   * `leases()` of `sluice/layers`: hot keys are spent in blocks, without asking for each attempt. The same in every process. Default: none.
   * It is given and not only switched on, so that nobody else carries its code.
   */
  readonly leases?: Layer | undefined;
}

const LAYER_OPTIONS = [
  'deadline',
  'circuitBreaker',
  'fallback',
  'fallbackShare',
  'onFallback',
  'onRecovered',
  'denyCache',
  'leases',
] as const;

export function redisStoreWith(run: RunScript, options: RedisOptions, batches: BatchOptions): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock', 'raw', ...LAYER_OPTIONS], 'redisStore');
  const { prefix, hashKeys, clock, raw = false } = options;
  if (typeof raw !== 'boolean') throw notRaw('true or false', raw);
  const bare = redisStoreOver(run, { prefix, hashKeys, clock }, batches);
  if (!raw)
    return layered(bare, ...(options.leases === undefined ? [] : [options.leases]), resilient(layersOf(options)));
  const unused = LAYER_OPTIONS.find((name) => options[name] !== undefined);
  if (unused !== undefined) throw notRaw(`no ${unused} beside it: the bare store has no layers`, raw);
  return bare;
}

function layersOf(options: RedisOptions): ResilientOptions {
  const { clock, deadline, circuitBreaker, denyCache } = options;
  // Only what is given: a layer tells its own defaults, and `undefined` is none.
  const timed = clock === undefined ? {} : { clock };
  return {
    fallback: fallbackOf(options),
    deadline: deadline === false ? false : { ...timed, ...(deadline === undefined ? {} : { timeout: deadline }) },
    circuitBreaker: circuitBreaker === false ? false : { ...timed, ...circuitBreaker },
    denyCache: denyCache === false ? false : { ...timed, ...denyCache },
  };
}

function fallbackOf({
  clock,
  fallback = 'local',
  fallbackShare,
  onFallback,
  onRecovered,
}: RedisOptions): FallbackOptions {
  const timed = clock === undefined ? {} : { clock };
  return {
    ...timed,
    to: fallback === 'local' ? memoryStore(timed) : fallback,
    ...(fallbackShare === undefined ? {} : { share: fallbackShare }),
    ...(onFallback === undefined ? {} : { onFallback }),
    ...(onRecovered === undefined ? {} : { onRecovered }),
  };
}

function notRaw(expected: string, got: unknown): SluiceError {
  return new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'redisStore.raw',
    expected,
    got: typeof got === 'boolean' ? got : Kind.of(got),
  });
}
