/** Every layer is a store: it keeps the whole contract, around a store that answers at once and around one that has to be waited for. */
import { describe, test } from 'vitest';
import { type ManualClock, memoryStore, type Store } from '../../src/index.ts';
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
import { storeContract } from '../../src/testing/index.ts';
import { meterOf } from './meter.ts';
import { waitedFor } from './support.ts';

const LAYERS: readonly [name: string, make: (clock: ManualClock) => Layer][] = [
  ['deadline', () => deadline()],
  ['circuit breaker', () => circuitBreaker()],
  ['fallback', (clock) => fallback({ to: memoryStore({ clock }), warnings: false })],
  ['deny cache', (clock) => denyCache({ clock })],
  ['deny cache of one key', (clock) => denyCache({ clock, maxKeys: 1 })],
  ['shadow of another policy', () => shadow({ policies: ['another'] })],
  ['telemetry', () => telemetry({ onDenied: () => {} })],
  ['telemetry of the store', () => telemetry({ at: 'store', onError: () => {} })],
  ['OpenTelemetry', () => openTelemetry({ meter: meterOf([]) })],
  ['OpenTelemetry of the store', () => openTelemetry({ meter: meterOf([]), at: 'store' })],
  [
    'resilient',
    (clock) => resilient({ fallback: { to: memoryStore({ clock }), warnings: false }, denyCache: { clock } }),
  ],
];

const INNER: readonly [name: string, make: (clock: ManualClock) => Store][] = [
  ['that answers at once', (clock) => memoryStore({ clock })],
  ['that has to be waited for', (clock) => waitedFor(memoryStore({ clock }))],
];

describe.each(LAYERS)('%s', (_, layer) => {
  describe.each(INNER)('around a store %s', (_, inner) => {
    for (const { name, run } of storeContract(({ clock }) => layered(inner(clock), layer(clock)))) test(name, run);
  });
});

describe('a fallback that answers everything', () => {
  const nobody: Store = {
    ask(question) {
      if (question.verb === 'forget') return memoryStore().ask(question);
      throw new Error('away');
    },
  };
  /** What only the store can know, and what it alone can give back. */
  const ONLY_THE_STORE =
    /history lists what was allowed|a refund gives back what was spent|what was reserved is settled once/;
  const cases = storeContract(({ clock }) =>
    layered(nobody, fallback({ to: memoryStore({ clock }), warnings: false })),
  );
  for (const { name, run } of cases.filter((each) => !ONLY_THE_STORE.test(each.name))) test(name, run);
});
