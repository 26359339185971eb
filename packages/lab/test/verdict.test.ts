/** What is said about the rows is so, and what is suggested shows what it promises. */
import { expect, test } from 'vitest';
import { Lab } from '../src/lab/lab.ts';
import { INITIAL_SETUP, type Setup } from '../src/setup/setup.ts';
import { twinsOf } from '../src/verdict/twins.ts';
import { verdictOf } from '../src/verdict/verdict.ts';

/** A lab after a suggestion was followed to its end. */
async function followed(lab: Lab): Promise<void> {
  const { arrivals } = verdictOf(lab).suggestion!;
  await lab.sendLater(arrivals);
  await lab.advance(Math.max(...arrivals.map(({ at }) => at)) + 1);
}

test('nothing was sent: what to do', () => {
  const { text, suggestion } = verdictOf(new Lab(INITIAL_SETUP));
  expect(text).toContain('Every row gets the same requests');
  expect(suggestion?.label).toBe('Try a burst across the edge of a window');
});

test('two bursts give seven identical rows, and it is said, with what would differ', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.send(10);
  expect(verdictOf(lab).text).toBe('All 7 agree so far: all 10 requests allowed. Shaping makes some of them wait.');
  await lab.send(10);
  const { text, suggestion } = verdictOf(lab);
  expect(text).toBe('All 7 agree so far: 10 of 20 allowed. Shaping makes some of them wait.');
  expect(suggestion?.label).toBe('Try a burst across the edge of a window');
});

test.each([
  { units: 10, window: 10_000, burst: 10 },
  { units: 100, window: 60_000, burst: 100 },
  { units: 3, window: 3_600_000, burst: 3 },
])('a burst across the edge shows the fixed window going beyond $units', async (limit) => {
  const lab = new Lab({ ...INITIAL_SETUP, limit });
  await lab.advance(limit.window * 0.3);
  await followed(lab);
  const { text, suggestion } = verdictOf(lab);
  expect(text).toMatch(
    new RegExp(`^Fixed window allowed ${2 * limit.units} in .*, where ${limit.units} were meant\\.`),
  );
  expect(suggestion?.label).toBe('Try twice the limit, evenly');
  await followed(lab);
  expect(verdictOf(lab).text).toContain(`${limit.units} were meant`);
});

test('buckets that go beyond the limit do what they promise, and it is said', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 40, seed: 1 } });
  await lab.advance(9_900);
  const { text } = verdictOf(lab);
  expect(text).toBe(
    'Token bucket, Leaky bucket policing and GCRA allowed 19 in 10 s, where 10 were meant. That is what they promise: the capacity immediately, and the rate on top. 4 kept to the limit.',
  );
});

test('who allowed more is said as long as nobody goes beyond the limit', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.send(10);
  await lab.advance(10_500);
  await lab.send(10);
  // The sliding counter still counts 0.95 of the window before.
  expect(verdictOf(lab).text).toBe(
    'Of 20 requests most rows allowed 20, Sliding window counter 11. No row went beyond the limit in any window.',
  );
});

test('rows that got different requests are not compared', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.send(3);
  await lab.send(1, 'gcra');
  expect(verdictOf(lab).text).toContain('cannot be compared');
});

test('rows with the same answers are found, and only once somebody was denied', async () => {
  const setup: Setup = { ...INITIAL_SETUP, traffic: { kind: 'poisson', rate: 30, seed: 7 } };
  const lab = new Lab(setup);
  await lab.advance(2_000);
  expect(twinsOf(lab)).toEqual({});
  await lab.advance(30_000);
  expect(twinsOf(lab)).toEqual({ 'leaky-bucket-policing': 'Token bucket', gcra: 'Token bucket' });
  await lab.configure('gcra', { limit: '10', period: '10s', capacity: '9' });
  expect(twinsOf(lab)).toEqual({ 'leaky-bucket-policing': 'Token bucket' });
});
