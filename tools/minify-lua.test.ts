/** What makes scripts short, by what it must not touch. That the scripts still do what they did is for the parity tests to say. */
import { expect, test } from 'vitest';
import { minifyLua, shareText } from './minify-lua.mjs';

test.each([
  [
    'names that are declared',
    'local first, second = ARGV[1], KEYS[1]\nreturn first + second',
    'local a,b=ARGV[1],KEYS[1]\nreturn a+b',
  ],
  ['functions and their parameters', 'local function add(one)\nreturn one\nend', 'local function b(a)\nreturn a\nend'],
  ['loops', 'for i, item in ipairs(ARGV) do redis.call(item, i) end', 'for a,b in ipairs(ARGV)do redis.call(b,a)end'],
  ['not what lies in a text', "local key = 'key'\nreturn key", "local a='key'\nreturn a"],
  ['not fields', 'local log = { log = 1, at = 2 }\nreturn log.log', 'local a={log=1,at=2}\nreturn a.log'],
  ['not what Redis declares', 'local limit = tonumber(ARGV[1])', 'local a=tonumber(ARGV[1])'],
  ['a name that is taken', 'local key = a', 'local b=a'],
  ['blanks with a meaning', 'local x = 1 - -2\nreturn 1 .. x', 'local a=1- -2\nreturn 1 ..a'],
  ['numbers', 'local e6 = 1e6', 'local a=1e6'],
])('%s', (_, script, short) => {
  expect(minifyLua([script])).toEqual([short]);
});

test('the same name is the same in all scripts', () => {
  const [one, other] = minifyLua(['local cost = 1\nlocal key = cost', 'local key = 2']);
  expect([one, other]).toEqual(['local a=1\nlocal b=a', 'local b=2']);
});

test('pieces of one text make every script again', () => {
  const common = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n');
  const scripts = [`${common}\nend one\n`, `begin two\n${common}\nend two\n`, common, ''];
  const { text, places } = shareText(scripts);
  const remade = places.map((list: readonly number[]) => {
    const pieces: string[] = [];
    for (let at = 0; at < list.length; at += 2) pieces.push(text.slice(list[at], list[at + 1]));
    return pieces.join('\n');
  });
  expect(remade).toEqual(scripts);
  expect(text.length).toBeLessThan(common.length + 100);
});
