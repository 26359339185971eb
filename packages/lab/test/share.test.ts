/** A set-up goes into an address and comes back out of it; nonsense in an address is as if it were not there. */
import { describe, expect, test } from 'vitest';
import { INITIAL_DRAFTS } from '../src/cards/catalog.ts';
import { Lab } from '../src/engine/lab.ts';
import { PRESETS } from '../src/presets/presets.ts';
import { INITIAL_SETUP, labAddress, readSetup, type Setup, writeSetup } from '../src/share/share.ts';

const SETUPS: readonly Partial<Setup>[] = [
  {},
  { preset: 'greedy-and-polite' },
  { traffic: { kind: 'poisson', rate: 12.5, seed: 99 }, speed: 0.1 },
  { traffic: { kind: 'boundary', rate: 2, seed: 1 }, speed: 100, burst: 1, cost: 7, engine: 'redis' },
  {
    drafts: {
      ...INITIAL_DRAFTS,
      'fixed-window': { limit: '100', window: '1m', align: 'first' },
      'token-bucket': { capacity: '5', refillRate: '600/m' },
      gcra: { limit: '60', period: '1h', capacity: '3' },
    },
  },
];

test.each(SETUPS)('%j comes back as it was', (part) => {
  const setup = { ...INITIAL_SETUP, ...part };
  expect(readSetup(new URLSearchParams(writeSetup(setup).toString()))).toEqual(setup);
});

test('an address says only what differs, in words', () => {
  const drafts = { ...INITIAL_DRAFTS, 'token-bucket': { capacity: '100', refillRate: '1' } };
  expect(decodeURIComponent(writeSetup({ ...INITIAL_SETUP, drafts }).toString())).toBe(
    'traffic=manual&token-bucket=capacity:100',
  );
});

describe('what is not understood is as at first', () => {
  test.each([
    'engine=moon',
    'traffic=flood&rate=-1&seed=1.5',
    'rate=1e9&speed=0&burst=0&cost=none',
    'preset=nothing',
    'fixed-window=limit:0',
    'fixed-window=limit:10,window:forever',
    'gcra=colour:blue',
    'token-bucket=capacity',
    'unknown=1',
  ])('%s', (query) => {
    expect(readSetup(new URLSearchParams(query))).toEqual(INITIAL_SETUP);
  });
});

test('the address of one card opens the lab with that card set and traffic running', () => {
  const address = labAddress('token-bucket', { capacity: '100', refillRate: '10' });
  const setup = readSetup(new URLSearchParams(address.split('?')[1]));
  expect(setup.drafts['token-bucket']).toEqual({ capacity: '100', refillRate: '10' });
  expect(setup.traffic.kind).toBe('poisson');
});

test('a story is told with the set-up of the address that was shared', async () => {
  const drafts = { ...INITIAL_DRAFTS, 'fixed-window': { limit: '3', window: '10s', align: 'epoch' } };
  const shared = { ...INITIAL_SETUP, preset: PRESETS[0]!.id, drafts, speed: 10, cost: 2 };
  const lab = new Lab(readSetup(writeSetup(shared)));
  await lab.tell(PRESETS[0]!, readSetup(writeSetup(shared)));
  expect(lab.setup).toEqual(shared);
  await lab.tell(PRESETS[0]!);
  expect(lab.setup).toEqual({ ...INITIAL_SETUP, preset: PRESETS[0]!.id });
});
