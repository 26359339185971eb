/**
 * What goes through, on the tracing channels `sluice:attempt` and `sluice:store` of diagnostics_channel, and to hooks. It stands where
 * it is put: outermost it sees what callers are told (`at: 'attempt'`), innermost what the store is asked and how it fails
 * (`at: 'store'`). When nobody listens, nothing is made and nothing is measured. A message never has the key, unless asked.
 *
 * The module is taken from the running platform by name, not imported, so that the library also loads where there is none (workers,
 * Node before 20.16): there only the hooks work.
 */
import { Kind } from '../model/errors.ts';
import { either, type MaybePromise } from '../model/maybe-promise.ts';
import { checkFlag, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { nodeModule } from '../model/runtime.ts';
import { type Answer, checkStore, checksOf, isStoreFault, type Question } from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import { type Layer, layerOf } from './layered.ts';

/** What `telemetry` takes. */
export interface TelemetryOptions {
  /** Where the layer stands, which is the channel it publishes on: `sluice:attempt` (default) or `sluice:store`. */
  readonly at?: 'attempt' | 'store' | undefined;
  /** Whether messages have the raw keys. Default: false. They may be personal data. */
  readonly keys?: boolean | undefined;
  /** Called with every attempt that is denied, but not with dry runs. */
  readonly onDenied?: Hook<TelemetryMessage> | undefined;
  /** Called with every question that fails, other than by a mistake of the caller. */
  readonly onError?: Hook<TelemetryMessage> | undefined;
}

/** One call. The same object is published at each stage, with `result` or `error` once they are there. */
export interface TelemetryMessage {
  readonly operation: Question['verb'];
  /** One for each check or change, in order. */
  readonly policies: readonly Policy[];
  readonly costs?: readonly number[] | undefined;
  /** What kind of change each is. */
  readonly verbs?: readonly string[] | undefined;
  readonly dryRun?: boolean | undefined;
  /** Only if asked for. */
  readonly keys?: readonly string[] | undefined;
  /** What the store or the layers said. */
  result?: Answer;
  error?: unknown;
}

/** Publishes what goes through on tracing channels, and calls hooks. */
export function telemetry(options: TelemetryOptions = {}): Layer {
  const { at, keys, onDenied, onError } = checkOptions(options);
  const channel = tracingChannel(`sluice:${at}`);
  const hooks: Hooks = { onDenied, onError };
  const hasHooks = onDenied !== undefined || onError !== undefined;
  if (channel === undefined && !hasHooks) return (inner) => checkStore(inner, 'telemetry(...)(store)');
  const isHeard = (): boolean => hasHooks || (channel !== undefined && hasSubscribers(channel));
  return layerOf('telemetry', (inner) => (question) => {
    if ((at === 'attempt' && question.verb !== 'attempt') || !isHeard()) return inner.ask(question);
    return traced(channel, hooks, messageOf(question, keys), () => inner.ask(question));
  });
}

function messageOf(question: Question, withKeys: boolean): TelemetryMessage {
  const { verb } = question;
  const items = itemsOf(question);
  return {
    operation: verb,
    policies: items.map(({ policy }) => policy),
    ...(verb === 'attempt' ? { costs: checksOf(question).map(({ cost }) => cost), dryRun: question.dryRun } : {}),
    ...(verb === 'change' ? { verbs: question.changes.map((change) => change.verb) } : {}),
    ...(withKeys ? { keys: items.map(({ key }) => key) } : {}),
  };
}

function itemsOf(question: Question): readonly { readonly key: string; readonly policy: Policy }[] {
  switch (question.verb) {
    case 'attempt':
      return checksOf(question);
    case 'change':
      return question.changes;
    case 'forget':
      return question.policies.map((policy) => ({ key: question.key, policy }));
    case 'history':
      return [question];
  }
}

type Hooks = Pick<TelemetryOptions, 'onDenied' | 'onError'>;

/** The stages are those of Node's own TracingChannel: start and end around the call, asyncStart and asyncEnd around a later answer. */
function traced(
  channel: TracingChannel | undefined,
  hooks: Hooks,
  message: TelemetryMessage,
  ask: () => MaybePromise<Answer>,
): MaybePromise<Answer> {
  const run = (): MaybePromise<Answer> => {
    try {
      return either<Answer, MaybePromise<Answer>>(
        ask(),
        (answer) => {
          succeeded(hooks, message, answer);
          return answer;
        },
        (answer) => tracedLater(channel, hooks, message, answer),
      );
    } catch (error) {
      failed(channel, hooks, message, error);
      throw error;
    } finally {
      channel?.end.publish(message);
    }
  };
  return channel === undefined ? run() : channel.start.runStores(message, run);
}

function tracedLater(
  channel: TracingChannel | undefined,
  hooks: Hooks,
  message: TelemetryMessage,
  answer: Promise<Answer>,
): Promise<Answer> {
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

function succeeded({ onDenied }: Hooks, message: TelemetryMessage, answer: Answer): void {
  message.result = answer;
  const isAttempt = message.operation === 'attempt' && message.dryRun !== true;
  if (isAttempt && answer.decisions.some(({ allowed }) => !allowed)) callHook(onDenied, message);
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

function tracingChannel(name: string): TracingChannel | undefined {
  const found = nodeModule('node:diagnostics_channel') as { tracingChannel?(name: string): TracingChannel } | undefined;
  return found?.tracingChannel?.(name);
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
  throw invalidOption(path, "'attempt' or 'store'", typeof at === 'string' ? at : Kind.of(at));
}
