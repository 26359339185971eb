/**
 * What goes through, on the tracing channels `sluice:attempt` and `sluice:store` of diagnostics_channel, and to hooks. It stands where
 * it is put: outermost it sees what callers are told (`at: 'attempt'`), innermost what the store is asked and how it fails
 * (`at: 'store'`). When nobody listens, nothing is made and nothing is measured. A message never has the key, unless asked.
 *
 * The module is taken from the running platform by name, not imported, so that the library also loads where there is none (workers,
 * Node before 20.16): there only the hooks work.
 */
import { Kind, SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkFlag, checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { type Check, checkStore, type MaybePromise, type ShortWay, type Store, type Verdicts } from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import type { Layer } from './layered.ts';
import { answerOf, withShortWay } from './short-way.ts';
import { isStoreFault } from './store-fault.ts';

export interface TelemetryOptions {
  /** Where the layer stands, which is the channel it publishes on: `sluice:attempt` (default) or `sluice:store`. */
  readonly at?: 'attempt' | 'store' | undefined;
  /** Whether messages have the raw keys. Default: false. They may be personal data. */
  readonly keys?: boolean | undefined;
  /** Told of every attempt that is denied, but not of dry runs. */
  readonly onDenied?: Hook<TelemetryMessage> | undefined;
  /** Told of every call that fails, other than by a mistake of the caller. */
  readonly onError?: Hook<TelemetryMessage> | undefined;
}

/** One call. The same object is published at each stage, with `result` or `error` once they are there. */
export interface TelemetryMessage {
  readonly operation: keyof Store;
  /** One for each check or change, in order. */
  readonly policies: readonly Policy[];
  readonly costs?: readonly number[] | undefined;
  /** What kind of change each is. */
  readonly verbs?: readonly string[] | undefined;
  readonly dryRun?: boolean | undefined;
  /** Only if asked for. */
  readonly keys?: readonly string[] | undefined;
  /** For `decide` and `change`: what the store or the layers said, in microseconds. */
  result?: Verdicts;
  error?: unknown;
}

export function telemetry(options: TelemetryOptions = {}): Layer {
  const { at, keys, onDenied, onError } = checkOptions(options);
  const channel = tracingChannel(`sluice:${at}`);
  const hooks: Hooks = { onDenied, onError };
  const hasHooks = onDenied !== undefined || onError !== undefined;

  return (inner) => {
    checkStore(inner, 'telemetry(...)(store)');
    if (channel === undefined && !hasHooks) return inner;
    const isHeard = (): boolean => hasHooks || hasSubscribers(channel!);
    const keysOf = (items: readonly { readonly key: string }[]): Pick<TelemetryMessage, 'keys'> =>
      keys ? { keys: items.map(({ key }) => key) } : {};

    const { one } = inner.decide;
    const toldOne: ShortWay['one'] = (key, policy, cost) =>
      isHeard() ? answerOf(decideTold([{ key, policy, cost }])) : one!(key, policy, cost);
    const decideTold: Store['decide'] = (checks, options) => {
      if (!isHeard()) return inner.decide(checks, options);
      const message = { ...attemptMessage(checks, options?.dryRun === true), ...keysOf(checks) };
      return traced(channel, hooks, message, () => inner.decide(checks, options));
    };
    const decide = withShortWay(decideTold, one && toldOne);
    if (at === 'attempt') return { ...passing(inner), decide };

    return {
      decide,
      change(changes) {
        if (!isHeard()) return inner.change(changes);
        const verbs = changes.map(({ verb }) => verb);
        const message = { operation: 'change', policies: changes.map(policyOf), verbs, ...keysOf(changes) } as const;
        return traced(channel, hooks, message, () => inner.change(changes));
      },
      forget(key, policies) {
        if (!isHeard()) return inner.forget(key, policies);
        const message = { operation: 'forget', policies, ...keysOf([{ key }]) } as const;
        return traced(channel, hooks, message, () => inner.forget(key, policies));
      },
      history(key, policy) {
        if (!isHeard()) return inner.history(key, policy);
        const message = { operation: 'history', policies: [policy], ...keysOf([{ key }]) } as const;
        return traced(channel, hooks, message, () => inner.history(key, policy));
      },
    };
  };
}

function passing(inner: Store): Store {
  return {
    decide: (checks, options) => inner.decide(checks, options),
    change: (changes) => inner.change(changes),
    forget: (key, policies) => inner.forget(key, policies),
    history: (key, policy) => inner.history(key, policy),
  };
}

function attemptMessage(checks: readonly Check[], dryRun: boolean): TelemetryMessage {
  return { operation: 'decide', policies: checks.map(policyOf), costs: checks.map(({ cost }) => cost), dryRun };
}

function policyOf({ policy }: { readonly policy: Policy }): Policy {
  return policy;
}

type Hooks = Pick<TelemetryOptions, 'onDenied' | 'onError'>;

/** The stages are those of Node's own TracingChannel: start and end around the call, asyncStart and asyncEnd around a later answer. */
function traced<T>(
  channel: TracingChannel | undefined,
  hooks: Hooks,
  message: TelemetryMessage,
  ask: () => MaybePromise<T>,
): MaybePromise<T> {
  const run = (): MaybePromise<T> => {
    try {
      const answer = ask();
      if (isPromise(answer)) return tracedLater(channel, hooks, message, answer);
      succeeded(hooks, message, answer);
      return answer;
    } catch (error) {
      failed(channel, hooks, message, error);
      throw error;
    } finally {
      channel?.end.publish(message);
    }
  };
  return channel === undefined ? run() : channel.start.runStores(message, run);
}

function tracedLater<T>(
  channel: TracingChannel | undefined,
  hooks: Hooks,
  message: TelemetryMessage,
  answer: Promise<T>,
): Promise<T> {
  const settled = (): void => {
    channel?.asyncStart.publish(message);
    channel?.asyncEnd.publish(message);
  };
  return answer.then(
    (value) => {
      succeeded(hooks, message, value);
      settled();
      return value;
    },
    (error) => {
      failed(channel, hooks, message, error);
      settled();
      throw error;
    },
  );
}

function succeeded({ onDenied }: Hooks, message: TelemetryMessage, answer: unknown): void {
  if (message.operation !== 'decide' && message.operation !== 'change') return;
  const result = answer as Verdicts;
  message.result = result;
  const isAttempt = message.operation === 'decide' && message.dryRun !== true;
  if (isAttempt && result.verdicts.some(({ allowed }) => !allowed)) callHook(onDenied, message);
}

function failed(
  channel: TracingChannel | undefined,
  { onError }: Hooks,
  message: TelemetryMessage,
  error: unknown,
): void {
  message.error = error;
  channel?.error.publish(message);
  if (isStoreFault(error)) callHook(onError, message);
}

/** What Sluice uses of diagnostics_channel. */
interface Channel {
  readonly hasSubscribers?: boolean;
  publish(message: unknown): void;
  runStores<T>(message: unknown, task: () => T): T;
}

const STAGES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type TracingChannel = Readonly<Record<(typeof STAGES)[number], Channel>> & { readonly hasSubscribers?: boolean };

interface Platform {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

function tracingChannel(name: string): TracingChannel | undefined {
  const found = (globalThis as Platform).process?.getBuiltinModule?.('node:diagnostics_channel');
  return (found as { tracingChannel?(name: string): TracingChannel } | undefined)?.tracingChannel?.(name);
}

/** Bun does not say so for the whole, and a platform that does not say it at all is taken to be listening. */
function hasSubscribers(channel: TracingChannel): boolean {
  return channel.hasSubscribers ?? STAGES.some((stage) => channel[stage].hasSubscribers !== false);
}

function checkOptions(options: TelemetryOptions): Hooks & { at: 'attempt' | 'store'; keys: boolean } {
  checkOptionNames(options, ['at', 'keys', 'onDenied', 'onError'], 'telemetry');
  const { at = 'attempt', keys = false, onDenied, onError } = options;
  checkFlag(keys, 'telemetry.keys');
  checkHook(onDenied, 'telemetry.onDenied');
  checkHook(onError, 'telemetry.onError');
  return { at: checkPlace(at, 'telemetry.at'), keys, onDenied, onError };
}

export function checkPlace(at: unknown, path: string): 'attempt' | 'store' {
  if (at === 'attempt' || at === 'store') return at;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path,
    expected: "'attempt' or 'store'",
    got: typeof at === 'string' ? at : Kind.of(at),
  });
}
