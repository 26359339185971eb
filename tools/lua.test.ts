/** The printer of Lua: what it prints means the same, and what it does not understand it refuses, with file and line. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import luaparse from 'luaparse';
import { expect, test } from 'vitest';
import { printLua, SHARED } from './lua.mjs';
import { runInLua } from './servers/index.ts';

const SOURCE = 'packages/sluice/src';
const FILES = ['algorithms', 'redis/lua']
  .flatMap((folder) =>
    readdirSync(join(SOURCE, folder), { recursive: true }).map((file) => join(SOURCE, folder, String(file))),
  )
  .filter((file) => file.endsWith('.lua'));

type Tree = { readonly [name: string]: unknown };

/** The tree without places, with each local name replaced by the number of its first appearance: the same for the same program. */
function shapeOf(source: string): unknown {
  const names = new Map<string, number>();
  const shape = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(shape);
    if (typeof node !== 'object' || node === null) return node;
    const { type, name, isLocal, raw: _raw, range: _range, loc: _loc, ...rest } = node as Tree;
    if (type === 'Identifier' && isLocal === true && !SHARED.includes(name as string)) {
      if (!names.has(name as string)) names.set(name as string, names.size);
      return { type, number: names.get(name as string) };
    }
    return { type, name, ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, shape(value)])) };
  };
  return shape(luaparse.parse(source, { luaVersion: '5.1', scope: true, comments: false }));
}

test.each(FILES)('%s means the same when it is printed', (file) => {
  const source = readFileSync(file, 'utf8');
  const printed = printLua(file);
  expect(shapeOf(printed)).toEqual(shapeOf(source));
  expect(printed.length).toBeLessThan(source.length);
  expect(printed).not.toContain('\n');
});

test.each([
  ['a comment sign inside a string', "local text = ' -- ' return text", ' -- '],
  ['a string that looks like code', "local text = 'local x = 1' return text", 'local x = 1'],
  ['escapes', String.raw`local text = '\'\\\110' return text`, "'\\n"],
  ['a parameter assigned after do, on one line', 'local function f(a) do a = 5 end return a end return f(1)', '5'],
  ['minus of a minus', 'local a = 3 return 1 - -a', '4'],
  ['not a comment', 'local a = 3 return - -a', '3'],
  ['dots after a number', 'return 1 ..2', '12'],
  ['a number that begins with a dot, after dots', "local a = 'n' return a.. .5", 'n0.5'],
  ['a long string as an index', 'local t = { k = 7 } return t[ [[k]] ]', '7'],
  ['a field called as a local', 'local name = { name = 1 } return name.name', '1'],
  ['a key called as a local', 'local key = 2 local t = { key = key } return t.key', '2'],
  ['a method', "local text = 'abc' return text:upper()", 'ABC'],
  [
    'inner functions and shadowed names',
    'local a = 1 local function f(a) local a = a + 1 return a end return f(a) + a',
    '3',
  ],
  [
    'more names than there are letters',
    `${Array.from({ length: 60 }, (_, n) => `local name${n} = ${n}`).join(' ')} return name59`,
    '59',
  ],
  ['keywords beside numbers', 'if 1 then return 2 else return 3 end', '2'],
  ['comparisons', 'local a, b = 1, 2 return (a ~= b and a <= b) and 5 or 6', '5'],
  ['a loop', 'local sum = 0 for i = 1, 3 do sum = sum + i end return sum', '6'],
])('%s', async (_, source, answer) => {
  const printed = printLua('some.lua', source);
  expect(shapeOf(printed)).toEqual(shapeOf(source));
  for (const version of ['5.1', '5.4'] as const) expect(await runInLua(version, printed)).toBe(answer);
});

test.each([
  ['a syntax error', '\nlocal a =\nreturn', 'some.lua:3: '],
  ['a name that is nowhere', 'local a = 1\nreturn b', 'some.lua:2: "b" is defined nowhere'],
  ['what the server does not offer', '\n\nreturn os.time()', 'some.lua:3: "os" is defined nowhere'],
  ['a global that is assigned', 'local a = 1\nb = a', 'some.lua:2: "b" is assigned and not local'],
  ['a shared name that is assigned', '\nnow = 1', 'some.lua:2: "now" is assigned and not local'],
  ['a function that is not local', 'function f() end', 'some.lua:1: a function must be local'],
  ['varargs', 'local function f(...) return ... end', 'some.lua:1: no varargs: arguments are named'],
  ['goto', 'local a = 1\ngoto done\n::done::', 'some.lua:2: '],
  ['whole division', 'return 7 // 2', 'some.lua:1: '],
  ['bits', 'return 7 & 2', 'some.lua:1: '],
  ['math.pow', '\nreturn math.pow(2, 3)', 'some.lua:2: math.pow is not in both Lua 5.1 and 5.4'],
  ['table.getn', 'return table.getn({})', 'some.lua:1: table.getn is not in both Lua 5.1 and 5.4'],
  ['string.gfind', 'return string.gfind', 'some.lua:1: string.gfind is not in both Lua 5.1 and 5.4'],
  ['a string that does not end', "local a = 1\nreturn 'abc", 'some.lua:2: '],
])('refuses %s', (_, source, message) => {
  expect(() => printLua('some.lua', source)).toThrow(message);
});
