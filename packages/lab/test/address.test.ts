/** A set-up goes into an address and comes back out of it; nonsense in an address is as if it were not there. */
import { describe, expect, test } from 'vitest';
import { Lab } from '../src/lab/lab.ts';
import { KINDS } from '../src/model/kinds/index.ts';
import { PLANS } from '../src/model/stories/index.ts';
import { readSetup, writeSetup } from '../src/setup/address.ts';
import { readMoment, writeMoment } from '../src/setup/moment.ts';
import { INITIAL_SETUP, type Setup } from '../src/setup/setup.ts';

const SETUPS: readonly Partial<Setup>[] = [
  {},
  { story: 'greedy-and-polite' },
  { traffic: { kind: 'poisson', rate: 12.5, seed: 99 }, speed: 0.1 },
  { traffic: { kind: 'boundary', rate: 20, seed: 1 }, speed: 100, burst: 1, cost: 7, engine: 'redis' },
  { limit: { units: 100, window: 60_000, burst: 20 } },
  { limit: { units: 5, window: 900_000, burst: 5 } },
  {
    own: {
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
  const own = { 'token-bucket': { capacity: '100', refillRate: '1' } };
  expect(decodeURIComponent(writeSetup({ ...INITIAL_SETUP, own }).toString())).toBe(
    'traffic=manual&token-bucket=capacity:100',
  );
  const limit = { units: 100, window: 60_000, burst: 20 };
  expect(decodeURIComponent(writeSetup({ ...INITIAL_SETUP, limit }).toString())).toBe(
    'limit=100/1m&capacity=20&traffic=manual',
  );
});

describe('what is not understood is as at first', () => {
  test.each([
    'engine=moon',
    'traffic=flood&rate=-1&seed=1.5',
    'rate=1e9&speed=0&burst=0&cost=none',
    'story=nothing',
    'limit=10',
    'limit=0/1m',
    'limit=10/forever',
    'fixed-window=limit:0',
    'fixed-window=limit:10,window:forever',
    'gcra=colour:blue',
    'token-bucket=capacity',
    'unknown=1',
  ])('%s', (query) => {
    expect(readSetup(new URLSearchParams(query))).toEqual(INITIAL_SETUP);
  });
});

test('a story is told with the set-up of the address that was shared', async () => {
  const own = { 'fixed-window': { limit: '3', window: '10s', align: 'epoch' } };
  const shared: Setup = { ...INITIAL_SETUP, story: PLANS[0]!.id, own, speed: 10, cost: 2 };
  const lab = new Lab(readSetup(writeSetup(shared)));
  await lab.tell(PLANS[0]!, readSetup(writeSetup(shared)));
  expect(lab.setup).toEqual(shared);
  await lab.tell(PLANS[0]!);
  expect(lab.setup).toEqual({ ...INITIAL_SETUP, story: PLANS[0]!.id });
});

const IDS = KINDS.map(({ id }) => id);

async function opened(address: string): Promise<Lab> {
  const parameters = new URLSearchParams(address);
  const lab = new Lab(readSetup(parameters));
  await lab.showMoment(readMoment(parameters, IDS)!);
  return lab;
}

function addressOf(lab: Lab): string {
  const parameters = writeSetup(lab.setup);
  writeMoment(parameters, lab.moment!);
  return parameters.toString();
}

const answersOf = ({ trace, rows, now }: Lab) => [
  now,
  Array.from(trace.at.slice(0, trace.length)),
  ...rows.map(({ id }) => [id, ...Array.from({ length: trace.length }, (_, index) => trace.outcome(id, index))]),
];

describe('a moment', () => {
  test('with requests that were sent by hand is shown again as it was', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.advance(9_500.25);
    await lab.send(10);
    await lab.advance(600);
    lab.change({ cost: 3 });
    await lab.send(2);
    await lab.advance(50);
    await lab.send(4, 'gcra');
    await lab.advance(1_234);
    expect(decodeURIComponent(addressOf(lab))).toBe(
      'traffic=manual&cost=3&sent=9.50025x10,10.10025x2c3,10.15025x4c3@gcra&t=11.38425',
    );
    const other = await opened(addressOf(lab));
    expect(answersOf(other)).toEqual(answersOf(lab));
    expect(other.playing).toBe(false);
    expect(addressOf(other)).toBe(addressOf(lab));
  });

  test('with traffic that began at some time is as well', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.advance(2_000);
    await lab.send(3);
    lab.changeTraffic({ kind: 'poisson', rate: 30, seed: 5 });
    await lab.advance(20_000);
    await lab.send(5);
    expect(answersOf(await opened(addressOf(lab)))).toEqual(answersOf(lab));
  });

  test('of the past is that one', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.send(3);
    await lab.advance(5_000);
    lab.look(1_500);
    expect((await opened(addressOf(lab))).now).toBe(1_500);
  });

  test('that cannot be told again has no address of its own', async () => {
    const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 20, seed: 1 } });
    await lab.advance(5_000);
    expect(lab.moment).toBeDefined();
    lab.changeTraffic({ kind: 'poisson' });
    expect(lab.moment).toBeUndefined();
    await lab.reset();
    expect(lab.moment).toBeDefined();
  });

  test.each(['t=-1', 't=never', 'sent=1x5', 't=1e12'])('%s is none', (query) => {
    expect(readMoment(new URLSearchParams(query), IDS)).toBeUndefined();
  });

  test('of nonsense leaves it out', () => {
    const sent = 'sent=1,x5,2x99999,3@moon,4c0,-5,6k7,7x2';
    expect(readMoment(new URLSearchParams(`${sent}&t=9`), IDS)).toEqual({
      time: 9_000,
      trafficFrom: 0,
      sent: [1_000, 7_000, 7_000].map((at) => ({ at, client: 0, cost: 1, only: undefined })),
    });
  });

  test('with more than an address holds is not shared', () => {
    const sent = Array.from({ length: 500 }, (_, index) => ({ at: index * 10, client: 0, cost: 1 }));
    expect(writeMoment(new URLSearchParams(), { sent, time: 5_000, trafficFrom: 0 })).toBe(false);
  });
});
