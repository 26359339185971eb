/** What listeners are told, that they are told no keys, and that nothing happens when nobody listens. */
import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { manualClock, memoryStore, SluiceError, type Store } from '../../src/index.ts';
import { type TelemetryMessage, telemetry } from '../../src/layers/index.ts';
import { openTelemetry } from '../../src/layers/otel.ts';
import { attemptOf } from '../../src/model/store.ts';
import { meterOf, type Reading } from './meter.ts';
import { bucket, change, check, decide, forget, history, puppet, waitedFor } from './support.ts';

const STAGES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
type Heard = [stage: string, message: Record<string, unknown>];

let stop = (): void => {};
afterEach(() => stop());

/** Everything that is published on a channel, each message as it was at that stage. */
function listen(name: 'sluice:attempt' | 'sluice:store'): Heard[] {
  const heard: Heard[] = [];
  const channel = tracingChannel(name);
  const handlers = Object.fromEntries(
    STAGES.map((stage) => [stage, (message: unknown) => heard.push([stage, { ...(message as object) }])]),
  ) as never;
  channel.subscribe(handlers);
  stop = () => channel.unsubscribe(handlers);
  return heard;
}

const memory = (): Store => memoryStore({ clock: manualClock(0) });
const stages = (heard: Heard[]): string[] => heard.map(([stage]) => stage);

describe('the tracing channels', () => {
  test('an attempt that is answered at once', () => {
    const heard = listen('sluice:attempt');
    const store = telemetry()(memory());
    const result = store.ask(attemptOf([check(bucket, 4)]));
    const message = { operation: 'attempt', policies: [bucket], costs: [4], dryRun: false };
    expect(heard).toEqual([
      ['start', message],
      ['end', { ...message, result }],
    ]);
  });

  test('an attempt that is answered later', async () => {
    const heard = listen('sluice:attempt');
    const result = await telemetry()(waitedFor(memory())).ask(attemptOf([check()], true));
    expect(stages(heard)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    expect(heard[3]![1]).toEqual({ operation: 'attempt', policies: [bucket], costs: [1], dryRun: true, result });
  });

  test('a failure, at once and later', async () => {
    const heard = listen('sluice:store');
    const inner = puppet();
    const store = telemetry({ at: 'store' })(inner);
    inner.behaves = 'throws';
    expect(() => decide(store, [check()])).toThrow('connection lost');
    expect(stages(heard.splice(0))).toEqual(['start', 'error', 'end']);
    inner.behaves = 'rejects';
    await expect(decide(store, [check()])).rejects.toThrow('connection lost');
    expect(stages(heard)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
    expect(heard[2]![1]).toMatchObject({ operation: 'attempt', error: inner.error });
  });

  test('every call of a store, and only attempts of attempts', async () => {
    const all = async (store: Store): Promise<void> => {
      await decide(store, [check()]);
      await change(store, [{ verb: 'unblock', key: 'someone', policy: bucket }]);
      await forget(store, 'someone', [bucket]);
      await Promise.resolve(history(store, 'someone', bucket)).catch(() => {});
    };
    const operations = (heard: Heard[]) =>
      heard.filter(([stage]) => stage === 'start').map(([, { operation }]) => operation);
    const calls = listen('sluice:store');
    await all(telemetry({ at: 'store' })(waitedFor(memory())));
    expect(operations(calls)).toEqual(['attempt', 'change', 'forget', 'history']);
    expect(calls.find(([, { operation }]) => operation === 'change')![1]).toMatchObject({ verbs: ['unblock'] });
    stop();
    const attempts = listen('sluice:attempt');
    await all(telemetry()(waitedFor(memory())));
    expect(operations(attempts)).toEqual(['attempt']);
  });

  test.each([
    [undefined, undefined],
    [true, ['secret:42']],
  ])('keys: %s', (keys, expected) => {
    const heard = listen('sluice:attempt');
    decide(telemetry({ keys })(memory()), [check(bucket, 1, 'secret:42')]);
    expect(heard[1]![1].keys).toEqual(expected);
    if (expected === undefined) expect(JSON.stringify(heard)).not.toContain('secret');
  });

  test('nobody listens: the call goes straight through', () => {
    const inner = memory();
    const ask = vi.spyOn(inner, 'ask');
    const question = attemptOf([check()]);
    telemetry()(inner).ask(question);
    expect(ask.mock.calls[0]![0]).toBe(question);
  });

  test('a platform without channels: the store itself', () => {
    const { getBuiltinModule } = process;
    process.getBuiltinModule = undefined as never;
    try {
      const inner = memory();
      expect(telemetry()(inner)).toBe(inner);
      const denied: unknown[] = [];
      decide(telemetry({ onDenied: (event) => denied.push(event) })(inner), [check(bucket, 11)]);
      expect(denied).toHaveLength(1);
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });

  test('a platform that does not say whether anyone listens', () => {
    const published: unknown[] = [];
    const stage = {
      publish: (message: unknown) => published.push(message),
      runStores: <T>(message: unknown, task: () => T): T => {
        published.push(message);
        return task();
      },
    };
    const channel = Object.fromEntries(STAGES.map((name) => [name, stage]));
    const { getBuiltinModule } = process;
    process.getBuiltinModule = (() => ({ tracingChannel: () => channel })) as never;
    try {
      decide(telemetry()(memory()), [check()]);
      expect(published).toHaveLength(2);
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });
});

describe('the hooks', () => {
  test('onDenied: every denied attempt, and no dry run', async () => {
    const denied: unknown[] = [];
    const onDenied = ({ costs, result }: TelemetryMessage) => denied.push([costs, result?.decisions[0]?.retryAfter]);
    const store = telemetry({ onDenied })(waitedFor(memory()));
    await decide(store, [check(bucket, 10)]);
    await decide(store, [check(bucket, 2)]);
    await decide(store, [check(bucket, 2)], { dryRun: true });
    expect(denied).toEqual([[[2], 2]]);
  });

  test('onError: what the store does wrong, and not what the caller does', async () => {
    const errors: unknown[] = [];
    const inner = puppet();
    const store = telemetry({ at: 'store', onError: ({ error }) => errors.push(error) })(inner);
    inner.behaves = 'rejects';
    await expect(decide(store, [check()])).rejects.toThrow();
    inner.error = new SluiceError({ code: 'SLUICE_NO_HISTORY', path: 'policy', expected: 'a log', got: 'none' });
    await expect(history(store, 'someone', bucket)).rejects.toThrow();
    expect(errors).toEqual([new Error('connection lost')]);
  });
});

describe('OpenTelemetry', () => {
  const attributes = { policy: 'token-bucket', algorithm: 'token-bucket' };

  test('decisions by outcome, and how long they took, in seconds', async () => {
    const readings: Reading[] = [];
    const clock = manualClock(0);
    const inner = puppet(memory());
    const store = openTelemetry({ meter: meterOf(readings), clock })(inner);
    decide(store, [check(bucket, 10)]);
    inner.behaves = 'hangs';
    const answer = decide(store, [check()]);
    clock.advance(25);
    inner.settle('answer');
    await answer;
    decide(store, [check()], { dryRun: true });
    expect(readings).toEqual([
      ['sluice.check.duration', 0, undefined],
      ['sluice.decisions', 1, { ...attributes, outcome: 'allowed' }],
      ['sluice.check.duration', 0.025, undefined],
      ['sluice.decisions', 1, { ...attributes, outcome: 'denied' }],
    ]);
    expect(JSON.stringify(readings)).not.toContain('someone');
  });

  test('errors of the store', async () => {
    const readings: Reading[] = [];
    const inner = puppet();
    const store = openTelemetry({ meter: meterOf(readings), at: 'store' })(inner);
    await decide(store, [check()]);
    inner.behaves = 'throws';
    expect(() => decide(store, [check()])).toThrow('connection lost');
    inner.behaves = 'rejects';
    await expect(forget(store, 'someone', [bucket])).rejects.toThrow('connection lost');
    inner.error = new SluiceError({ code: 'SLUICE_NO_HISTORY', path: 'policy', expected: 'a log', got: 'none' });
    await expect(history(store, 'someone', bucket)).rejects.toThrow('policy');
    expect(readings).toEqual([
      ['sluice.store.errors', 1, { operation: 'attempt' }],
      ['sluice.store.errors', 1, { operation: 'forget' }],
    ]);
  });
});
