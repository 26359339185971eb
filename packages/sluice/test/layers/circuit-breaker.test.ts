/** Closed, open, half-open: a table of moments, and whose failures count. */
import { describe, expect, test } from 'vitest';
import { manualClock, memoryStore, SluiceError } from '../../src/index.ts';
import { type CircuitChange, circuitBreaker, deadline, layered } from '../../src/layers/index.ts';
import { bucket, change, check, decide, forget, history, manualTimers, puppet, stateOf } from './support.ts';

function around(inner = puppet()) {
  const clock = manualClock(0);
  const changes: CircuitChange[] = [];
  const store = circuitBreaker({
    failures: 3,
    retryAfter: '1s',
    clock,
    onStateChange: (change) => changes.push(change),
  })(inner);
  const attempt = async () => stateOf((async () => decide(store, [check()]))());
  return { inner, clock, store, attempt, states: () => changes.map(({ to }) => to), changes };
}

/** At this moment, with the store in this mood, an attempt ends so, and the store has been asked so many times. */
type Row = [atMs: number, mood: 'answers' | 'throws' | 'rejects', outcome: string, asked: number];

const TABLES: readonly [title: string, rows: readonly Row[], states: readonly string[]][] = [
  [
    'opens after so many failures in a row, and then does not ask',
    [
      [0, 'rejects', 'connection lost', 1],
      [0, 'throws', 'connection lost', 2],
      [1, 'rejects', 'connection lost', 3],
      [1, 'answers', 'SLUICE_CIRCUIT_OPEN', 3],
      [1000.999, 'answers', 'SLUICE_CIRCUIT_OPEN', 3],
    ],
    ['open'],
  ],
  [
    'a success in between starts the count again',
    [
      [0, 'rejects', 'connection lost', 1],
      [0, 'rejects', 'connection lost', 2],
      [0, 'answers', 'answered', 3],
      [0, 'rejects', 'connection lost', 4],
      [0, 'rejects', 'connection lost', 5],
      [0, 'answers', 'answered', 6],
    ],
    [],
  ],
  [
    'a probe that succeeds closes it',
    [
      [0, 'rejects', 'connection lost', 1],
      [0, 'rejects', 'connection lost', 2],
      [0, 'rejects', 'connection lost', 3],
      [1000, 'answers', 'answered', 4],
      [1000, 'answers', 'answered', 5],
      [1000, 'rejects', 'connection lost', 6],
      [1000, 'answers', 'answered', 7],
    ],
    ['open', 'half-open', 'closed'],
  ],
  [
    'a probe that fails opens it again, for as long',
    [
      [0, 'throws', 'connection lost', 1],
      [0, 'throws', 'connection lost', 2],
      [0, 'throws', 'connection lost', 3],
      [1000, 'throws', 'connection lost', 4],
      [1999.999, 'answers', 'SLUICE_CIRCUIT_OPEN', 4],
      [2000, 'answers', 'answered', 5],
    ],
    ['open', 'half-open', 'open', 'half-open', 'closed'],
  ],
];

test.each(TABLES)('%s', async (_, rows, states) => {
  const breaker = around();
  const seen: unknown[] = [];
  for (const [at, mood] of rows) {
    breaker.clock.set(at);
    breaker.inner.behaves = mood;
    seen.push([at, mood, await breaker.attempt(), breaker.inner.calls]);
  }
  expect(seen).toEqual(rows);
  expect(breaker.states()).toEqual(states);
});

async function opened() {
  const breaker = around();
  breaker.inner.behaves = 'rejects';
  for (let failure = 0; failure < 3; failure += 1) await breaker.attempt();
  return breaker;
}

test('the refusal says so, at once, and names the cause', async () => {
  const { store, inner, changes } = await opened();
  const refuse = () => decide(store, [check()]);
  expect(refuse).toThrow(SluiceError);
  expect(refuse).toThrow('The circuit is open after 3 failures in a row; the store is tried again within 1 s.');
  expect(refuse).toThrow(expect.objectContaining({ code: 'SLUICE_CIRCUIT_OPEN', kind: 'store', cause: inner.error }));
  expect(changes).toEqual([{ from: 'closed', to: 'open', error: inner.error }]);
});

test('every kind of call is refused while it is open', async () => {
  const { store, inner } = await opened();
  const before = inner.calls;
  expect(() => change(store, [{ verb: 'unblock', key: 'someone', policy: bucket }])).toThrow(/SLUICE_CIRCUIT_OPEN/);
  expect(() => forget(store, 'someone', [bucket])).toThrow(/SLUICE_CIRCUIT_OPEN/);
  expect(() => history(store, 'someone', bucket)).toThrow(/SLUICE_CIRCUIT_OPEN/);
  expect(inner.calls).toBe(before);
});

test('only one probe at a time', async () => {
  const { store, inner, clock, attempt, states } = await opened();
  clock.set(1000);
  inner.behaves = 'hangs';
  const probe = decide(store, [check()]);
  expect(await attempt()).toBe('SLUICE_CIRCUIT_OPEN');
  expect(await attempt()).toBe('SLUICE_CIRCUIT_OPEN');
  expect(inner.calls).toBe(4);
  inner.settle('answer');
  expect(await stateOf(probe)).toBe('answered');
  expect(states()).toEqual(['open', 'half-open', 'closed']);
});

test('a probe that never comes back gives way to another', async () => {
  const { store, inner, clock, attempt, states } = await opened();
  clock.set(1000);
  inner.behaves = 'hangs';
  void decide(store, [check()]);
  clock.set(1999);
  expect(await attempt()).toBe('SLUICE_CIRCUIT_OPEN');
  clock.set(2000);
  inner.behaves = 'answers';
  expect(await attempt()).toBe('answered');
  expect(states()).toEqual(['open', 'half-open', 'closed']);
});

test('what comes back from before it opened neither closes it nor counts later', async () => {
  const { store, inner, clock, attempt, states } = around();
  inner.behaves = 'hangs';
  const slow = [1, 2, 3, 4].map(() => decide(store, [check()]));
  inner.behaves = 'rejects';
  for (let failure = 0; failure < 3; failure += 1) await attempt();
  clock.set(1000);
  inner.behaves = 'answers';
  expect(await attempt()).toBe('answered');
  inner.settle(new Error('long ago'));
  expect(await Promise.all(slow.map(stateOf))).toEqual(Array(4).fill('long ago'));
  expect(await attempt()).toBe('answered');
  expect(states()).toEqual(['open', 'half-open', 'closed']);
});

describe('a mistake of the caller', () => {
  const mistake = new SluiceError({ code: 'SLUICE_NO_HISTORY', path: 'policy', expected: 'a log', got: 'none' });

  test('never counts', async () => {
    const { inner, attempt, states } = around();
    inner.error = mistake;
    for (const mood of ['rejects', 'throws'] as const) {
      inner.behaves = mood;
      for (let time = 0; time < 10; time += 1) expect(await attempt()).toBe('SLUICE_NO_HISTORY');
    }
    expect(states()).toEqual([]);
  });

  test('as a probe proves nothing: the next call is the probe', async () => {
    const { inner, clock, attempt, states } = await opened();
    clock.set(1000);
    inner.error = mistake;
    expect(await attempt()).toBe('SLUICE_NO_HISTORY');
    inner.behaves = 'answers';
    expect(await attempt()).toBe('answered');
    expect(states()).toEqual(['open', 'half-open', 'open', 'half-open', 'closed']);
  });
});

test('replies that are none of ours count, as timeouts do', async () => {
  const timers = manualTimers();
  const inner = puppet();
  const states: string[] = [];
  const store = layered(
    inner,
    deadline({ timeout: '50ms', clock: timers.clock, wakeAfter: timers.wakeAfter }),
    circuitBreaker({ failures: 2, clock: timers.clock, onStateChange: ({ to }) => states.push(to) }),
  );
  inner.behaves = 'hangs';
  const answers = [decide(store, [check()]), decide(store, [check()])];
  timers.pass(50);
  expect(await Promise.all(answers.map(stateOf))).toEqual(['SLUICE_TIMEOUT', 'SLUICE_TIMEOUT']);
  expect(states).toEqual(['open']);
  inner.error = new SluiceError({ code: 'SLUICE_UNEXPECTED_REPLY', path: 'redis', expected: 'a reply', got: 'OK' });
  inner.behaves = 'rejects';
  timers.pass(1000);
  expect(await stateOf(decide(store, [check()]))).toBe('SLUICE_UNEXPECTED_REPLY');
  expect(states).toEqual(['open', 'half-open', 'open']);
});

test('a hook that throws or rejects harms nobody', async () => {
  const inner = puppet(memoryStore({ clock: manualClock(0) }));
  for (const hook of [
    () => {
      throw new Error('logger');
    },
    async () => {
      throw new Error('logger');
    },
  ]) {
    const store = circuitBreaker({ failures: 1, onStateChange: hook })(inner);
    inner.behaves = 'throws';
    expect(() => decide(store, [check()])).toThrow('connection lost');
    expect(() => decide(store, [check()])).toThrow(/SLUICE_CIRCUIT_OPEN/);
  }
  await stateOf(undefined);
});
