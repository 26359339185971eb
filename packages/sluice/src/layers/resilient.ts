/**
 * The layers a shared store needs in production, in the order that is right: deadline, circuit breaker, fallback, deny cache, from the
 * inside out. Why this order is in docs/layers.md.
 */
import { checkOptionNames } from '../model/options.ts';
import { type CircuitBreakerOptions, circuitBreaker } from './circuit-breaker.ts';
import { type DeadlineOptions, deadline } from './deadline.ts';
import { type DenyCacheOptions, denyCache } from './deny-cache/deny-cache.ts';
import { type FallbackOptions, fallback } from './fallback/fallback.ts';
import { type Layer, layered } from './layered.ts';

/** What `resilient` takes: the options of its layers, by their names. */
export interface ResilientOptions {
  /** Who answers when the store does not. To leave the fallback out, put the other layers together yourself. */
  readonly fallback: FallbackOptions;
  /** `false` leaves the layer out. */
  readonly deadline?: DeadlineOptions | false | undefined;
  /** `false` leaves the layer out. */
  readonly circuitBreaker?: CircuitBreakerOptions | false | undefined;
  /** `false` leaves the layer out. */
  readonly denyCache?: DenyCacheOptions | false | undefined;
}

/** Deadline, circuit breaker, fallback and deny cache around a store of your own. `redisStore(client)` has all of it already. */
export function resilient(options: ResilientOptions): Layer {
  checkOptionNames(options, ['fallback', 'deadline', 'circuitBreaker', 'denyCache'], 'resilient');
  const layers = [
    ...optional(deadline, options.deadline),
    ...optional(circuitBreaker, options.circuitBreaker),
    fallback(untilNextProbe(options)),
    ...optional(denyCache, options.denyCache),
  ];
  return (inner) => layered(inner, ...layers);
}

function optional<Options>(layer: (options: Options) => Layer, options: Options | false | undefined): Layer[] {
  return options === false ? [] : [layer((options === undefined ? {} : options) as Options)];
}

/** Those whom the fallback denies may come back when the store is asked again. */
function untilNextProbe({ fallback, circuitBreaker }: ResilientOptions): FallbackOptions {
  const retryAfter = circuitBreaker ? circuitBreaker.retryAfter : undefined;
  return retryAfter === undefined || typeof fallback !== 'object' ? fallback : { retryAfter, ...fallback };
}
