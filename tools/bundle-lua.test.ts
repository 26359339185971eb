/** What the bundler does to functions must not change what a script says: each row runs on a real server, as it is written and flat. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleLua } from './bundle-lua.mjs';
import { startServer } from './servers/index.ts';

const source = fileURLToPath(new URL('../packages/sluice/src', import.meta.url));
const lines = (...text: string[]): string => text.join('\n');

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
});
afterAll(() => server.stop());

const DOUBLED = lines('local function doubled(value)', '  local result = value * 2', '  return result', 'end');

const ROWS: readonly [title: string, text: string, says: string | number, inFlat: RegExp][] = [
  [
    'what it returns becomes the receiver of the same name',
    lines(DOUBLED, 'local value = 3', 'local result = doubled(value)', 'return result'),
    6,
    /^local value = 3\nlocal result = value \* 2\nreturn result\n$/,
  ],
  [
    'it assigns to receivers that are called otherwise',
    lines(DOUBLED, 'local value, other = 3, 0', 'other = doubled(value)', 'return other'),
    6,
    /\ndo\nlocal result = value \* 2\nother = result\nend\n/,
  ],
  [
    'its own variables do not hide those that are used after the call',
    lines(DOUBLED, 'local result = 1', 'local value = 5', 'local other = doubled(value)', 'return result + other'),
    11,
    /\ndo\nlocal result = value \* 2\n/,
  ],
  [
    'a receiver that its body means otherwise keeps its value until the end',
    lines(
      'local function swapped(one, two)',
      '  local first = two',
      '  local second = one',
      '  return first, second',
      'end',
      'local one, two = 1, 2',
      'one, two = swapped(one, two)',
      "return one .. ',' .. two",
    ),
    '2,1',
    /\none, two = first, second\n/,
  ],
  [
    'a comma within a call is none of the list that is returned',
    lines(
      'local function written(value)',
      "  return string.format('%d', value)",
      'end',
      'local text',
      'text = written(7)',
      'return text',
    ),
    '7',
    /\ntext = string\.format\('%d', value\)\n/,
  ],
  [
    'what a loop reads from outside is made its own, what it changes is not',
    lines(
      'local step, sum = 2, 0',
      'local function loop()',
      '  for _ = 1, 3 do',
      '    sum = sum + step',
      '  end',
      'end',
      'pcall(loop)',
      'return sum',
    ),
    6,
    /\nlocal function loop\(\)\nlocal step = step\n/,
  ],
];

it.each(ROWS)('%s', async (_, text, says, inFlat) => {
  const flat = bundleLua(source, 'row', { text, flat: true });
  expect(flat).toMatch(inFlat);
  expect(await server.command('EVAL', bundleLua(source, 'row', { text }), '0')).toBe(says);
  expect(await server.command('EVAL', flat, '0')).toBe(says);
});

it('refuses to put a function where a name that it uses means something else', () => {
  const text = lines(
    'local rate = 2',
    'local function priced(value)',
    '  local price = value * rate',
    '  return price',
    'end',
    'local rate = 3',
    'local price = priced(1)',
    'return price',
  );
  expect(() => bundleLua(source, 'row', { text, flat: true })).toThrow('would see another rate');
});
