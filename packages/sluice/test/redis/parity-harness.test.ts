/**
 * Parity proves something only if it can fail. Here one line of Lua at a time is broken, in the text that is sent to the
 * server, and the comparison must notice, and name an algorithm that uses the line.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha1 } from '../../../../tools/bundle-lua.mjs';
import type { RunScript, Script } from '../../src/redis/run-script.ts';
import { compareTwins } from '../support/parity.ts';
import { compareLargeLogs } from './support/large-logs.ts';
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

/** None of them may make a search for a moment endless: a server cannot be interrupted in a script that has written. */
const MUTANTS: readonly [mistake: string, kinds: readonly string[], line: string, instead: string][] = [
  ['a level drains a little too fast', BUCKETS, '((at - since) * rate) / 1e6', '((at - since) * rate) / 999999'],
  [
    'a level is stored with few digits',
    BUCKETS,
    "'<Bddxxx', 108, left, at",
    "'<Bddxxx', 108, math.floor(left * 1e6) / 1e6, at",
  ],
  ['a bucket refills while time goes back', BUCKETS, 'local at = since > now and since or now', 'local at = now'],
  ['a large step back is not stored', BUCKETS, "struct.pack('<Bddxxx', 108, level, now)", 'nil'],
  ['a horizon loses its fraction', HORIZONS, '102, whole, fraction', '102, whole, 0.25'],
  ['a shaper tells no delay', ['leaky-bucket shaping'], "delays == '1'", "delays == 'no'"],
  ['GCRA tells a delay', ['gcra'], "delays == '1'", "delays ~= 'no'"],
  [
    'a window still counts at its end',
    ['fixed-window first'],
    'if now - start >= size then',
    'if now - start > size then',
  ],
  [
    'an epoch window lies elsewhere',
    ['fixed-window epoch'],
    "'epoch' and now - now % size",
    "'epoch' and now - now % size + 1",
  ],
  [
    'a window forgets what it has counted',
    ['fixed-window epoch'],
    'elseif start < opens then start, count = opens, 0',
    'elseif start < opens + size then start, count = opens, 0',
  ],
  ['a cost above the limit is not refused for good', FIXED, 'cost > limit and math.huge or until_end', 'until_end'],
  ['a fading count has no tolerance', COUNTER, '/ size + tolerance', '/ size'],
  [
    'a counter adds to the wrong number',
    [...COUNTER, ...FIXED, ...HORIZONS],
    "call('INCRBY', key, added_text)",
    "call('INCRBY', key, '2')",
  ],
  ['a changed level is not written', BUCKETS, "call('SETRANGE', key, '0', state)", ''],
  ['the wrong count fades', COUNTER, 'local left = faded(previous, elapsed)', 'local left = faded(current, elapsed)'],
  ['a unit stays in the window too long', LOG, '> moment', '>= moment'],
  ['the ring does not move its head', LOG, '(log.head + change.drop) % log.capacity', 'log.head'],
  ['a denied step is stored', LOG, 'if not reanchored then return room, retry, reset, 0 end', ''],
];

describe('parity notices when', () => {
  it.each(MUTANTS)('%s', async (_, kinds, line, instead) => {
    const { difference } = await compareTwins(runWith(line, instead), SEED, STEPS);
    expect(difference, 'the comparison saw no difference').toBeDefined();
    expect(kinds).toContain(difference!.kind);
    expect(difference!.lua).not.toBe(difference!.typescript);
  });
});

const LARGE_LOG_MUTANTS: readonly [mistake: string, line: string, instead: string][] = [
  ['the header is not written', "call('SETRANGE', key, '0', header)", ''],
  ['the new entry is not written', "call('SETRANGE', key, entry_at, entry)", ''],
  [
    'an entry is read from the wrong place',
    'log.key, at, at + log.entry_bytes - 1',
    'log.key, at - 1, at + log.entry_bytes - 2',
  ],
  ['an entry is too narrow for the limit', 'bytes_for(max(limit, units) + 1)', 'bytes_for(max(limit, units) - 1)'],
];

describe('parity of large logs notices when', () => {
  it.each(LARGE_LOG_MUTANTS)('%s', async (_, line, instead) => {
    const { difference } = await compareLargeLogs(runWith(line, instead), SEED, 20);
    expect(difference, 'the comparison saw no difference').toBeDefined();
  });
});

it('sees no difference when nothing is broken', async () => {
  const { difference } = await compareTwins(runWith('return', 'return'), SEED, STEPS);
  expect(difference).toBeUndefined();
  const largeLogs = await compareLargeLogs(runWith('return', 'return'), SEED, 20);
  expect(largeLogs.difference).toBeUndefined();
});
