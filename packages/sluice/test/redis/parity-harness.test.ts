/**
 * Parity proves something only if it can fail. Here one line of Lua at a time is broken, in the text that is sent to the
 * server, and the comparison must notice, and name an algorithm that uses the line.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { printLua } from '../../../../tools/lua.mjs';
import type { RunScript, Script } from '../../src/redis/run-script.ts';
import { sha1 } from '../../src/redis/sha1.ts';
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

const ALGORITHMS = new URL('../../src/algorithms/', import.meta.url);
const AROUND = new URL('../../src/redis/lua/', import.meta.url);

/** Where a file stands, and how it is printed with a line broken. */
function printed(file: URL, line: string, instead: string): string {
  const source = readFileSync(file, 'utf8');
  if (line !== '') expect(source, `the line to break is no longer in ${file}: choose another`).toContain(line);
  return printLua(file.pathname, line === '' ? source : source.replaceAll(line, instead));
}

/** What of a file is part of a script that only decides. */
function decidingPart(lua: string): string {
  const changes = lua.indexOf('local function penalize');
  return changes < 0 ? lua : lua.slice(0, changes);
}

let mutants = 0;

function runWith(file: URL, line: string, instead: string): RunScript {
  mutants += 1;
  const prefix = `mutant${mutants}:`;
  const [whole, broken] = [printed(file, '', ''), printed(file, line, instead)].map(decidingPart) as [string, string];
  return (script, keys, args) =>
    connection.run(
      withText(script, whole, broken),
      keys.map((key) => prefix + key),
      args,
    );
}

/** Scripts of other algorithms do not have the text. */
function withText({ source }: Script, text: string, instead: string): Script {
  const changed = source.split(text).join(instead);
  return { source: changed, sha1: sha1(changed) };
}

const LEVEL = new URL('shared/level.lua', ALGORITHMS);
const HORIZON = new URL('shared/horizon.lua', ALGORITHMS);
const WINDOW = new URL('fixed-window/fixed-window.lua', ALGORITHMS);
const WINDOWS = new URL('shared/windows.lua', ALGORITHMS);
const COUNTER_LUA = new URL('sliding-window-counter/sliding-window-counter.lua', ALGORITHMS);
const LOG_LUA = new URL('sliding-window-log/sliding-window-log.lua', ALGORITHMS);
const VALUE = new URL('value.lua', AROUND);

const BUCKETS = ['token-bucket', 'leaky-bucket policing'];
const HORIZONS = ['leaky-bucket shaping', 'gcra'];
const FIXED = ['fixed-window epoch', 'fixed-window first'];
const CALENDARS = ['calendar-quota', 'calendar-quota in New York'];
const COUNTER = ['sliding-window-counter'];
const LOG = ['sliding-window-log'];

/** None of them may make a search for a moment endless: a server cannot be interrupted in a script that has written. */
const MUTANTS: readonly [mistake: string, kinds: readonly string[], file: URL, line: string, instead: string][] = [
  ['a level drains a little too fast', BUCKETS, LEVEL, '((at - since) * y) / 1e6', '((at - since) * y) / 999999'],
  [
    'a level is stored with few digits',
    BUCKETS,
    LEVEL,
    "'<Bddxxx', 108, level, at",
    "'<Bddxxx', 108, math.floor(level * 1e6) / 1e6, at",
  ],
  [
    'a bucket refills while time goes back',
    BUCKETS,
    LEVEL,
    'local at = since > now and since or now',
    'local at = now',
  ],
  ['a large step back is not stored', BUCKETS, LEVEL, 'if reanchored then state = written(level, now) end', ''],
  ['a lowered bucket has less than nothing left', BUCKETS, LEVEL, 'return room > 0 and room or 0', 'return room'],
  ['a horizon loses its fraction', HORIZONS, HORIZON, '102, whole, fraction', '102, whole, 0.25'],
  ['a horizon forgets under which numbers it was written', HORIZONS, HORIZON, 'interval ~= y', 'false'],
  ['a shaper tells no delay', ['leaky-bucket shaping'], HORIZON, "string.find(z, 'd', 1, true)", 'false'],
  ['GCRA tells a delay', ['gcra'], HORIZON, "string.find(z, 'd', 1, true)", 'true'],
  ['a window still counts at its end', ['fixed-window first'], WINDOW, 'now - start >= y', 'now - start > y'],
  [
    'an epoch window lies elsewhere',
    ['fixed-window epoch'],
    WINDOW,
    'now - now % y or now',
    'now - now % y + 1 or now',
  ],
  [
    'a window forgets what it has counted',
    ['fixed-window epoch'],
    WINDOW,
    'start < opens and 0',
    'start < opens + y and 0',
  ],
  [
    'a cost above the limit is not refused for good',
    [...FIXED, ...CALENDARS],
    WINDOWS,
    'cost > x and math.huge or until_end',
    'until_end',
  ],
  ['a fading count has no tolerance', COUNTER, COUNTER_LUA, '/ y + tolerance', '/ y'],
  [
    'a counter adds to the wrong number',
    [...COUNTER, ...FIXED, ...CALENDARS, ...HORIZONS],
    VALUE,
    "call('INCRBY', key, added_text)",
    "call('INCRBY', key, '2')",
  ],
  [
    'a changed level is not written',
    [...BUCKETS, ...HORIZONS],
    VALUE,
    "else call('SETRANGE', key, '0', state) end",
    'end',
  ],
  [
    'the wrong count fades',
    COUNTER,
    COUNTER_LUA,
    'x - current - faded(previous, elapsed)',
    'x - current - faded(current, elapsed)',
  ],
  ['a unit stays in the window too long', LOG, LOG_LUA, '> moment', '>= moment'],
  ['the ring does not move its head', LOG, LOG_LUA, '(log.head + change.drop) % log.capacity', 'log.head'],
  ['a large step back drops what was counted', LOG, LOG_LUA, 'change.cost = used + cost', 'change.cost = cost'],
];

describe('parity notices when', () => {
  it.each(MUTANTS)('%s', async (_, kinds, file, line, instead) => {
    const { difference } = await compareTwins(runWith(file, line, instead), SEED, STEPS);
    expect(difference, 'the comparison saw no difference').toBeDefined();
    expect(kinds).toContain(difference!.kind);
    expect(difference!.lua).not.toBe(difference!.typescript);
  });
});

const LARGE_LOG_MUTANTS: readonly [mistake: string, line: string, instead: string][] = [
  ['the header is not written', "call('SETRANGE', key, '0', header_of(log))", ''],
  ['the new entry is not written', "if text ~= '' then call('SETRANGE', key, format('%d', at), text) end", ''],
  [
    'an entry is read from the wrong place',
    "format('%d', from), format('%d', to - 1)",
    "format('%d', from - 1), format('%d', to - 2)",
  ],
  ['an entry is too narrow for the limit', 'bytes_for(math.max(x, units) + 1)', 'bytes_for(math.max(x, units) - 1)'],
];

describe('parity of large logs notices when', () => {
  it.each(LARGE_LOG_MUTANTS)('%s', async (_, line, instead) => {
    const { difference } = await compareLargeLogs(runWith(LOG_LUA, line, instead), SEED, 20);
    expect(difference, 'the comparison saw no difference').toBeDefined();
  });
});

it('sees no difference when nothing is broken', async () => {
  const { difference } = await compareTwins(runWith(LEVEL, 'return', 'return'), SEED, STEPS);
  expect(difference).toBeUndefined();
  const largeLogs = await compareLargeLogs(runWith(LOG_LUA, 'return', 'return'), SEED, 20);
  expect(largeLogs.difference).toBeUndefined();
});
