/**
 * `sluice/otel`: metrics for OpenTelemetry, through the meter you give; Sluice itself imports nothing. Outermost (`at: 'attempt'`) it counts what callers
 * are told, in `sluice.decisions` and `sluice.check.duration`; innermost (`at: 'store'`) it counts `sluice.store.errors`, which a
 * fallback would hide from it outside. No attribute has a key.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { type Check, checkStore, type MaybePromise, type Store, type Verdicts } from '../model/store.ts';
import type { Layer } from './layered.ts';
import { isStoreFault } from './store-fault.ts';
import { checkPlace } from './telemetry.ts';

/** What Sluice uses of a Meter of `@opentelemetry/api`. */
export interface OpenTelemetryMeter {
  createCounter(name: string, options?: InstrumentOptions): { add(value: number, attributes?: Attributes): void };
  createHistogram(name: string, options?: InstrumentOptions): { record(value: number, attributes?: Attributes): void };
}

interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

type Attributes = Record<string, string>;

export interface OpenTelemetryOptions {
  /** For example `metrics.getMeter('sluice')` of `@opentelemetry/api`. */
  readonly meter: OpenTelemetryMeter;
  /** Where the layer stands. Default: 'attempt', outermost. */
  readonly at?: 'attempt' | 'store' | undefined;
  /** For tests. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

/** Seconds. The SDK's own defaults are meant for milliseconds: all of ours would fall into the first. */
const BOUNDARIES = [1e-6, 1e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

export function openTelemetry(options: OpenTelemetryOptions): Layer {
  checkOptionNames(options, ['meter', 'at', 'clock'], 'openTelemetry');
  const meter = checkMeter(options.meter);
  const clock = checkClock(options.clock ?? monotonicClock, 'openTelemetry.clock');
  const at = checkPlace(options.at ?? 'attempt', 'openTelemetry.at');
  return (inner) => {
    checkStore(inner, 'openTelemetry(...)(store)');
    return at === 'attempt' ? measuringAttempts(inner, meter, clock) : countingErrors(inner, meter);
  };
}

function measuringAttempts(inner: Store, meter: OpenTelemetryMeter, clock: Clock): Store {
  const decisions = meter.createCounter('sluice.decisions', { description: 'Decisions by policy and outcome' });
  const duration = meter.createHistogram('sluice.check.duration', {
    description: 'How long an attempt took to be answered',
    unit: 's',
    advice: { explicitBucketBoundaries: BOUNDARIES },
  });
  const record = (checks: readonly Check[], answer: Verdicts, startedAt: number): Verdicts => {
    duration.record((clock.now() - startedAt) / 1e3);
    for (const [index, { allowed }] of answer.verdicts.entries()) {
      decisions.add(1, attributesOf(checks[index]!.policy, allowed));
    }
    return answer;
  };

  return {
    decide(checks, options) {
      // Nobody acts on a dry run, so it is no decision.
      if (options?.dryRun === true) return inner.decide(checks, options);
      const startedAt = clock.now();
      const answer = inner.decide(checks, options);
      return isPromise(answer)
        ? answer.then((verdicts) => record(checks, verdicts, startedAt))
        : record(checks, answer, startedAt);
    },
    change: (changes) => inner.change(changes),
    forget: (key, policies) => inner.forget(key, policies),
    history: (key, policy) => inner.history(key, policy),
  };
}

function countingErrors(inner: Store, meter: OpenTelemetryMeter): Store {
  const errors = meter.createCounter('sluice.store.errors', { description: 'Calls that the store failed' });
  const count = (operation: keyof Store, error: unknown): never => {
    if (isStoreFault(error)) errors.add(1, { operation });
    throw error;
  };
  const counted = <T>(operation: keyof Store, ask: () => MaybePromise<T>): MaybePromise<T> => {
    try {
      const answer = ask();
      return isPromise(answer) ? answer.catch((error) => count(operation, error)) : answer;
    } catch (error) {
      return count(operation, error);
    }
  };
  return {
    decide: (checks, options) => counted('decide', () => inner.decide(checks, options)),
    change: (changes) => counted('change', () => inner.change(changes)),
    forget: (key, policies) => counted('forget', () => inner.forget(key, policies)),
    history: (key, policy) => counted('history', () => inner.history(key, policy)),
  };
}

/** Made once for each policy: an attempt makes no attributes. */
const attributes = new WeakMap<Policy, { readonly allowed: Attributes; readonly denied: Attributes }>();

function attributesOf(policy: Policy, allowed: boolean): Attributes {
  let known = attributes.get(policy);
  if (known === undefined) {
    const common = { policy: policy.name, algorithm: policy.algorithm };
    known = { allowed: { ...common, outcome: 'allowed' }, denied: { ...common, outcome: 'denied' } };
    attributes.set(policy, known);
  }
  return allowed ? known.allowed : known.denied;
}

function checkMeter(meter: unknown): OpenTelemetryMeter {
  const given = meter as OpenTelemetryMeter | null | undefined;
  if (typeof given?.createCounter === 'function' && typeof given.createHistogram === 'function') return given;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'openTelemetry.meter',
    expected: "a meter, such as metrics.getMeter('sluice') of @opentelemetry/api",
    got: Kind.of(meter),
  });
}
