/** Putting layers together, what they refuse to be given, and that nothing is deferred that need not be. */
import { describe, expect, test } from 'vitest';
import { type ErrorCode, memoryStore, SluiceError, type Store } from '../../src/index.ts';
import {
  circuitBreaker,
  deadline,
  denyCache,
  fallback,
  type Layer,
  layered,
  resilient,
  shadow,
  telemetry,
} from '../../src/layers/index.ts';
import { openTelemetry } from '../../src/layers/otel.ts';
import { meterOf } from './meter.ts';
import { check, decide, forget } from './support.ts';

const bad = (value: unknown): never => value as never;
const store = memoryStore();

test('the first layer stands next to the store, the last one sees an attempt first', () => {
  const order: string[] = [];
  const noting =
    (name: string): Layer =>
    (inner: Store) => ({
      ask(question) {
        order.push(name);
        return inner.ask(question);
      },
    });
  decide(layered(store, noting('first'), noting('second'), noting('third')), [check()]);
  expect(order).toEqual(['third', 'second', 'first']);
});

test('no layers: the store itself', () => expect(layered(store)).toBe(store));

test('a store that answers at once does so through all layers', () => {
  const all = layered(
    memoryStore(),
    openTelemetry({ meter: meterOf([]), at: 'store' }),
    telemetry({ at: 'store', onError: () => {} }),
    resilient({ fallback: { to: memoryStore() } }),
    shadow(),
    telemetry({ onDenied: () => {} }),
    openTelemetry({ meter: meterOf([]) }),
  );
  expect(decide(all, [check()])).toMatchObject({ verdicts: [{ allowed: true, remaining: 9 }], source: 'store' });
  expect(forget(all, 'someone', [check().policy])).toMatchObject({ verdicts: [{ remaining: 10 }], source: 'store' });
});

type Row = [title: string, make: () => unknown, path: string, expected: string, code?: ErrorCode];

const MISTAKES: readonly Row[] = [
  ['deadline: misspelt', () => deadline(bad({ timout: 5 })), 'deadline.timout', 'Did you mean `timeout`?'],
  ['deadline: no options', () => deadline(bad(null)), 'deadline', 'an object of options'],
  ['deadline: 0', () => deadline({ timeout: 0 }), 'deadline.timeout', 'a positive number', 'SLUICE_INVALID_DURATION'],
  [
    'deadline: text',
    () => deadline({ timeout: bad('soon') }),
    'deadline.timeout',
    'a positive',
    'SLUICE_INVALID_DURATION',
  ],
  [
    'deadline: clock',
    () => deadline({ clock: bad(5) }),
    'deadline.clock',
    'an object with now()',
    'SLUICE_INVALID_CLOCK',
  ],
  ['deadline: wakeAfter', () => deadline({ wakeAfter: bad(5) }), 'deadline.wakeAfter', 'a function'],
  [
    'breaker: misspelt',
    () => circuitBreaker(bad({ failure: 5 })),
    'circuitBreaker.failure',
    'Did you mean `failures`?',
  ],
  [
    'breaker: failures',
    () => circuitBreaker({ failures: 0 }),
    'circuitBreaker.failures',
    'a whole number of at least 1',
  ],
  ['breaker: null', () => circuitBreaker({ failures: bad(null) }), 'circuitBreaker.failures', 'a whole number'],
  [
    ...(['breaker: retryAfter', () => circuitBreaker({ retryAfter: -1 }), 'circuitBreaker.retryAfter'] as const),
    ...(['a positive number', 'SLUICE_INVALID_DURATION'] as const),
  ],
  ['breaker: hook', () => circuitBreaker({ onStateChange: bad('log') }), 'circuitBreaker.onStateChange', 'a function'],
  [
    ...(['breaker: clock', () => circuitBreaker({ clock: bad({}) }), 'circuitBreaker.clock'] as const),
    ...(['an object with now()', 'SLUICE_INVALID_CLOCK'] as const),
  ],
  ['fallback: nothing', () => fallback(bad(undefined)), 'fallback', 'an object of options (to, share'],
  ['fallback: to nobody', () => fallback(bad({})), 'fallback.to', "'allow', 'deny' or a store"],
  ['fallback: to local', () => fallback({ to: bad('local') }), 'fallback.to', "'allow', 'deny' or a store"],
  ['fallback: no store', () => fallback({ to: bad({}) }), 'fallback.to', 'a store', 'SLUICE_INVALID_STORE'],
  ['fallback: null', () => fallback({ to: bad(null) }), 'fallback.to', 'a store', 'SLUICE_INVALID_STORE'],
  ['fallback: share 0', () => fallback({ to: store, share: 0 }), 'fallback.share', 'above 0 and at most 1'],
  ['fallback: share 2', () => fallback({ to: store, share: 2 }), 'fallback.share', 'above 0 and at most 1'],
  ['fallback: share of yes', () => fallback({ to: 'allow', share: 0.5 }), 'fallback.share', 'only a store can'],
  ['fallback: hook', () => fallback({ to: 'deny', onFallback: bad(1) }), 'fallback.onFallback', 'a function'],
  ['fallback: other hook', () => fallback({ to: 'deny', onRecovered: bad(1) }), 'fallback.onRecovered', 'a function'],
  ['deny cache: misspelt', () => denyCache(bad({ maxkeys: 1 })), 'denyCache.maxkeys', 'Did you mean `maxKeys`?'],
  ['deny cache: maxKeys', () => denyCache({ maxKeys: 0.5 }), 'denyCache.maxKeys', 'a whole number of at least 1'],
  ['deny cache: clock', () => denyCache({ clock: bad({}) }), 'denyCache.clock', 'now()', 'SLUICE_INVALID_CLOCK'],
  ['shadow: one name', () => shadow({ policies: bad('a') }), 'shadow.policies', 'an array of policy names'],
  ['shadow: no name', () => shadow({ policies: [] }), 'shadow.policies', 'an array of policy names'],
  ['shadow: hook', () => shadow({ onShadowDenied: bad(1) }), 'shadow.onShadowDenied', 'a function'],
  ['telemetry: at', () => telemetry({ at: bad('limiter') }), 'telemetry.at', "'attempt' or 'store'"],
  ['telemetry: keys', () => telemetry({ keys: bad('yes') }), 'telemetry.keys', 'true or false'],
  ['telemetry: hook', () => telemetry({ onDenied: bad({}) }), 'telemetry.onDenied', 'a function'],
  ['telemetry: other hook', () => telemetry({ onError: bad({}) }), 'telemetry.onError', 'a function'],
  ['otel: no meter', () => openTelemetry(bad({})), 'openTelemetry.meter', 'a meter'],
  ['otel: at', () => openTelemetry({ meter: meterOf([]), at: bad('x') }), 'openTelemetry.at', "'attempt' or 'store'"],
  [
    'resilient: misspelt',
    () => resilient(bad({ breaker: {} })),
    'resilient.breaker',
    'The options are fallback, deadline',
  ],
  ['resilient: no fallback', () => resilient(bad({})), 'fallback', 'an object of options'],
  [
    'resilient: inside',
    () => resilient({ fallback: { to: 'deny' }, denyCache: { maxKeys: 0 } }),
    'denyCache.maxKeys',
    'at least 1',
  ],
  ['layered: no store', () => layered(bad(undefined)), 'layered(store)', 'a store', 'SLUICE_INVALID_STORE'],
  ['layered: not called', () => layered(store, bad(deadline)), 'deadline.place', 'unknown option `place`'],
  [
    'layered: no store inside',
    () => layered(store, () => bad(1)),
    'layered(...)[1]',
    'a store',
    'SLUICE_INVALID_STORE',
  ],
  ['layered: a store', () => layered(store, deadline(), bad(store)), 'layered(...)[2]', 'a layer, such as deadline()'],
  ['deadline of nothing', () => deadline()(bad(null)), 'deadline(...)(store)', 'a store', 'SLUICE_INVALID_STORE'],
];

describe('a mistake in the options is refused where it is made', () => {
  test.each(MISTAKES)('%s', (_, make, path, expected, code = 'SLUICE_INVALID_OPTION') => {
    let thrown: unknown;
    try {
      make();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SluiceError);
    expect(thrown).toMatchObject({ code, path, sentence: expect.stringContaining(expected) });
  });
});
