/** What listeners are told, that they are told no keys, and that nothing happens when nobody listens. */
import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { manualClock, memoryStore, SluiceError, type Store } from '../../src/index.ts';
import { telemetry } from '../../src/layers/index.ts';
import { openTelemetry } from '../../src/layers/otel.ts';
import { meterOf, type Reading } from './meter.ts';
import { bucket, check, puppet, waitedFor } from './support.ts';

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
    const result = store.decide([check(bucket, 4)]);
    const message = { operation: 'decide', policies: [bucket], costs: [4], dryRun: false };
    expect(heard).toEqual([
      ['start', message],
      ['end', { ...message, result }],
    ]);
  });

  test('an attempt that is answered later', async () => {
    const heard = listen('sluice:attempt');
    const result = await telemetry()(waitedFor(memory())).decide([check()], { dryRun: true });
    expect(stages(heard)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    expect(heard[3]![1]).toEqual({ operation: 'decide', policies: [bucket], costs: [1], dryRun: true, result });
  });

  test('a failure, at once and later', async () => {
    const heard = listen('sluice:store');
    const inner = puppet();
    const store = telemetry({ at: 'store' })(inner);
    inner.behaves = 'throws';
    expect(() => store.decide([check()])).toThrow('connection lost');
    expect(stages(heard.splice(0))).toEqual(['start', 'error', 'end']);
    inner.behaves = 'rejects';
    await expect(store.decide([check()])).rejects.toThrow('connection lost');
    expect(stages(heard)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
    expect(heard[2]![1]).toMatchObject({ operation: 'decide', error: inner.error });
  });

  test('every call of a store, and only attempts of attempts', async () => {
    const change = [{ verb: 'unblock', key: 'someone', policy: bucket }] as const;
    const all = async (store: Store): Promise<void> => {
      await store.decide([check()]);
      await Promise.resolve(store.change(change)).catch(() => {});
      await store.forget('someone', [bucket]);
      await Promise.resolve(store.history('someone', bucket)).catch(() => {});
    };
    const operations = (heard: Heard[]) =>
      heard.filter(([stage]) => stage === 'start').map(([, { operation }]) => operation);
    const calls = listen('sluice:store');
    await all(telemetry({ at: 'store' })(waitedFor(memory())));
    expect(operations(calls)).toEqual(['decide', 'change', 'forget', 'history']);
    expect(calls.find(([, { operation }]) => operation === 'change')![1]).toMatchObject({ verbs: ['unblock'] });
    stop();
    const attempts = listen('sluice:attempt');
    await all(telemetry()(waitedFor(memory())));
    expect(operations(attempts)).toEqual(['decide']);
  });

  test.each([
    [undefined, undefined],
    [true, ['secret:42']],
  ])('keys: %s', (keys, expected) => {
    const heard = listen('sluice:attempt');
    telemetry({ keys })(memory()).decide([check(bucket, 1, 'secret:42')]);
    expect(heard[1]![1].keys).toEqual(expected);
    if (expected === undefined) expect(JSON.stringify(heard)).not.toContain('secret');
  });

  test('nobody listens: the call goes straight through', () => {
    const inner = memory();
    const decide = vi.spyOn(inner, 'decide');
    const checks = [check()];
    telemetry()(inner).decide(checks);
    expect(decide.mock.calls[0]![0]).toBe(checks);
  });

  test('a platform without channels: the store itself', () => {
    const { getBuiltinModule } = process;
    process.getBuiltinModule = undefined as never;
    try {
      const inner = memory();
      expect(telemetry()(inner)).toBe(inner);
      const denied: unknown[] = [];
      telemetry({ onDenied: (event) => denied.push(event) })(inner).decide([check(bucket, 11)]);
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
      telemetry()(memory()).decide([check()]);
      expect(published).toHaveLength(2);
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });
});

describe('the hooks', () => {
  test('onDenied: every denied attempt, and no dry run', async () => {
    const denied: unknown[] = [];
    const store = telemetry({ onDenied: ({ costs, result }) => denied.push([costs, result?.verdicts[0]?.retryAfter]) })(
      waitedFor(memory()),
    );
    await store.decide([check(bucket, 10)]);
    await store.decide([check(bucket, 2)]);
    await store.decide([check(bucket, 2)], { dryRun: true });
    expect(denied).toEqual([[[2], 2_000_000]]);
  });

  test('onError: what the store does wrong, and not what the caller does', async () => {
    const errors: unknown[] = [];
    const inner = puppet();
    const store = telemetry({ at: 'store', onError: ({ error }) => errors.push(error) })(inner);
    inner.behaves = 'rejects';
    await expect(store.decide([check()])).rejects.toThrow();
    inner.error = new SluiceError({ code: 'SLUICE_NO_HISTORY', path: 'policy', expected: 'a log', got: 'none' });
    await expect(store.history('someone', bucket)).rejects.toThrow();
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
    store.decide([check(bucket, 10)]);
    inner.behaves = 'hangs';
    const answer = store.decide([check()]);
    clock.advance(25);
    inner.settle('answer');
    await answer;
    store.decide([check()], { dryRun: true });
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
    await store.decide([check()]);
    inner.behaves = 'throws';
    expect(() => store.decide([check()])).toThrow('connection lost');
    inner.behaves = 'rejects';
    await expect(store.forget('someone', [bucket])).rejects.toThrow('connection lost');
    inner.error = new SluiceError({ code: 'SLUICE_NO_HISTORY', path: 'policy', expected: 'a log', got: 'none' });
    await expect(store.history('someone', bucket)).rejects.toThrow('policy');
    expect(readings).toEqual([
      ['sluice.store.errors', 1, { operation: 'decide' }],
      ['sluice.store.errors', 1, { operation: 'forget' }],
    ]);
  });
});
