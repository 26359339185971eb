/**
 * Parity proves something only if it can fail. Here one line of Lua at a time is broken, in the text that is sent to the
 * server, and the comparison must notice, and name an algorithm that uses the line.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha1 } from '../../../../tools/bundle-lua.mjs';
import type { RunScript, Script } from '../../src/redis/run-script.ts';
import { compareTwins } from '../support/parity.ts';
import { type Connection, serversOf, TOPOLOGIES } from './support/topologies.ts';

const STEPS = 80_000;
/** Always the same, so that a mistake that is rarely visible is visible here or the test says so at once. */
const SEED = 7;

const servers = serversOf('redis');
let connection: Connection;

beforeAll(async () => {
  connection = await TOPOLOGIES.find(({ title }) => title === 'ioredis client on redis')!.connect(servers);
});
afterAll(async () => {
  await connection?.close();
  await servers.stop();
});

function broken({ source }: Script, line: string, instead: string): Script {
  expect(source, 'the line to break is no longer in the script: choose another').toContain(line);
  const text = source.replaceAll(line, instead);
  return { source: text, sha1: sha1(text) };
}

let mutants = 0;

function runWith(line: string, instead: string): RunScript {
  mutants += 1;
  const prefix = `mutant${mutants}:`;
  return (script, keys, args) =>
    connection.run(
      broken(script, line, instead),
      keys.map((key) => prefix + key),
      args,
    );
}

const BUCKETS = ['token-bucket', 'leaky-bucket policing'];
const HORIZONS = ['leaky-bucket shaping', 'gcra'];
const FIXED = ['fixed-window epoch', 'fixed-window first'];
const COUNTER = ['sliding-window-counter'];
const LOG = ['sliding-window-log'];

const MUTANTS: readonly [mistake: string, kinds: readonly string[], line: string, instead: string][] = [
  [
    'a level has no tolerance',
    BUCKETS,
    'local room = floor(capacity - level + TOLERANCE)',
    'local room = floor(capacity - level)',
  ],
  [
    'a level drains a little too fast',
    BUCKETS,
    'local left = level - (elapsed * rate) / 1e6',
    'local left = level - (elapsed * rate) / 999999',
  ],
  [
    'a level is stored with few digits',
    BUCKETS,
    "struct.pack('<dd', state[1], state[2]), ...)",
    "struct.pack('<dd', math.floor(state[1] * 1e6) / 1e6, state[2]), ...)",
  ],
  ['a bucket refills while time goes back', BUCKETS, 'local at = max(now, since)', 'local at = now'],
  ['a large step back is not stored', BUCKETS, 'reanchored and { level, now } or nil', 'nil'],
  [
    'the wait is a microsecond too long',
    BUCKETS,
    '<= target do elapsed = elapsed - 1 end\nwhile level',
    '< target do elapsed = elapsed - 1 end\nwhile level',
  ],
  ['a horizon loses its fraction', HORIZONS, 'if state[2] == 0 then raw', 'if state[2] >= 0 then raw'],
  [
    'a horizon has no tolerance',
    HORIZONS,
    'if distance <= TOLERANCE * interval then return 0 end',
    'if distance <= 0 then return 0 end',
  ],
  [
    'a shaper tells no delay',
    ['leaky-bucket shaping'],
    'time_until(next, now, passed), wait, next',
    'time_until(next, now, passed), 0, next',
  ],
  [
    'GCRA tells a delay',
    ['gcra'],
    'allowed, remaining, retry_after, reset_after, 0, next',
    'allowed, remaining, retry_after, reset_after, _, next',
  ],
  [
    'a window still counts at its end',
    ['fixed-window first'],
    'if now - start < size then',
    'if now - start <= size then',
  ],
  [
    'an epoch window lies elsewhere',
    ['fixed-window epoch'],
    "align == 'epoch' and now - (now % size) or now",
    "align == 'epoch' and now - (now % size) + 1 or now",
  ],
  [
    'time going back opens a new window',
    ['fixed-window epoch'],
    'if start > now then return start - (start % size), count end',
    '',
  ],
  [
    'a denied step says when, not never',
    FIXED,
    'return false, room, cost > limit and huge or until_end',
    'return false, room, until_end',
  ],
  [
    'the previous window does not fade',
    COUNTER,
    'return floor((count * (size - elapsed)) / size + TOLERANCE)',
    'return count',
  ],
  [
    'the fading count has no tolerance',
    COUNTER,
    'return floor((count * (size - elapsed)) / size + TOLERANCE)',
    'return floor((count * (size - elapsed)) / size)',
  ],
  [
    'both counts are read swapped',
    COUNTER,
    'local start, current, previous = state[1], state[2], state[3]',
    'local start, previous, current = state[1], state[2], state[3]',
  ],
  [
    'a unit is in the window one microsecond longer',
    LOG,
    'return time_at(log, index) > moment end',
    'return time_at(log, index) >= moment end',
  ],
  [
    'the ring forgets to move its head',
    LOG,
    'log.head, log.length = (log.head + change.drop) % log.capacity',
    'log.head, log.length = log.head',
  ],
  ['the header of a large log is not written', LOG, "redis.call('SETRANGE', key, '0', header)", ''],
  ['entries are too narrow for the limit', LOG, 'bytes_for(max(limit, units) + 1)', 'bytes_for(limit / 256)'],
  ['a denied step is stored', LOG, 'if not reanchored then return false, room, retry, reset, 0, nil end', ''],
];

describe('parity notices when', () => {
  it.each(MUTANTS)('%s', async (_, kinds, line, instead) => {
    const { difference } = await compareTwins(runWith(line, instead), SEED, STEPS);
    expect(difference, 'the comparison saw no difference').toBeDefined();
    expect(kinds).toContain(difference!.kind);
    expect(difference!.lua).not.toBe(difference!.typescript);
  });
});

it('sees no difference when nothing is broken', async () => {
  const { difference } = await compareTwins(runWith('return', 'return'), SEED, STEPS);
  expect(difference).toBeUndefined();
});
