/**
 * Lua lives in real files with `require('folder/name')`. Redis takes one string. Each required file becomes a function of its
 * own scope, run where it is required and only then, so a script that carries all algorithms costs what one of them does.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const REQUIRE = /require\('([^']+)'\)/g;
const FOLDERS = ['redis/lua', 'algorithms'];

/**
 * The entry (a name in redis/lua) with all it requires, as one script. `stands` says which file a required name stands for;
 * `text` is an entry of its own, for tests.
 */
export function bundleLua(source, entry, stands = {}, text = read(source, entry)) {
  const settled = text.replace(REQUIRE, (_, name) => `require('${stands[name] ?? name}')`);
  const order = [];
  collect(source, settled, order);
  const functions = order.map((name) => `local function ${functionName(name)}()\n${body(read(source, name))}\nend`);
  return `${[...functions, body(settled)].join('\n')}\n`;
}

/** Depth first, so that a function stands after all it calls. */
function collect(source, text, order) {
  for (const [, name] of text.matchAll(REQUIRE)) {
    if (order.includes(name)) continue;
    collect(source, read(source, name), order);
    order.push(name);
  }
}

function read(source, name) {
  const file = FOLDERS.map((folder) => join(source, folder, `${name}.lua`)).find(existsSync);
  if (file === undefined) throw new Error(`no Lua file for require('${name}') in ${FOLDERS.join(' or ')}`);
  return readFileSync(file, 'utf8');
}

/** Comments and blank lines are for people; Redis keeps the text in memory for every script. */
function body(text) {
  const lines = text.split('\n').map((line) => line.replace(/\s*--\s.*$/, '').trim());
  return lines
    .filter((line) => line !== '')
    .join('\n')
    .replace(REQUIRE, (_, name) => `${functionName(name)}()`);
}

function functionName(name) {
  return name.replace(/^.*\//, '').replace(/-/g, '_');
}

export function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
