/**
 * `sluice/otel`: metrics for OpenTelemetry, through the meter you give; Sluice itself imports nothing. Outermost (`at: 'attempt'`) it counts what callers
 * are told, in `sluice.decisions` and `sluice.check.duration`; innermost (`at: 'store'`) it counts `sluice.store.errors`, which a
 * fallback would hide from it outside. No attribute has a key.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { Kind } from '../model/errors.ts';
import { asking, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { type Answer, type Attempt, checksOf, isStoreFault, type Store } from '../model/store.ts';
import { type Layer, layerOf } from './layered.ts';
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

/** What `openTelemetry` takes. */
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

/**
 * A layer that counts attempts and measures how long they take, on an OpenTelemetry meter.
 *
 * @example
 * const store = layered(redisStore(client), openTelemetry({ meter: metrics.getMeter('sluice') }));
 */
export function openTelemetry(options: OpenTelemetryOptions): Layer {
  checkOptionNames(options, ['meter', 'at', 'clock'], 'openTelemetry');
  const meter = checkMeter(options.meter);
  const clock = checkClock(options.clock ?? monotonicClock, 'openTelemetry.clock');
  const at = checkPlace(options.at ?? 'attempt', 'openTelemetry.at');
  return layerOf('openTelemetry', (inner) =>
    at === 'attempt' ? measuringAttempts(inner, meter, clock) : countingErrors(inner, meter),
  );
}

function measuringAttempts(inner: Store, meter: OpenTelemetryMeter, clock: Clock): Store['ask'] {
  const decisions = meter.createCounter('sluice.decisions', { description: 'Decisions by policy and outcome' });
  const duration = meter.createHistogram('sluice.check.duration', {
    description: 'How long an attempt took to be answered',
    unit: 's',
    advice: { explicitBucketBoundaries: BOUNDARIES },
  });
  const record = (question: Attempt, answer: Answer, startedAt: number): Answer => {
    duration.record((clock.now() - startedAt) / 1e3);
    const checks = checksOf(question);
    for (const [index, { allowed }] of answer.decisions.entries()) {
      decisions.add(1, attributesOf(checks[index]!.policy, allowed));
    }
    return answer;
  };
  return (question) => {
    // Nobody acts on a dry run, so it is no decision.
    if (question.verb !== 'attempt' || question.dryRun) return inner.ask(question);
    const startedAt = clock.now();
    return proceed(inner.ask(question), (answer) => record(question, answer, startedAt));
  };
}

function countingErrors(inner: Store, meter: OpenTelemetryMeter): Store['ask'] {
  const errors = meter.createCounter('sluice.store.errors', {
    description: 'Questions that the store failed to answer',
  });
  return (question) =>
    asking(
      inner,
      question,
      (answer) => answer,
      (error) => {
        if (isStoreFault(error)) errors.add(1, { operation: question.verb });
        throw error;
      },
    );
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
  throw invalidOption(
    'openTelemetry.meter',
    "a meter, such as metrics.getMeter('sluice') of @opentelemetry/api",
    Kind.of(meter),
  );
}
