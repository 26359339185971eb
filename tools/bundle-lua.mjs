/**
 * Lua lives in real files with `require('folder/name')`. Redis takes one string, and runs all of it for every call: what it does not
 * need to create, it should not. So a file that is required once, at the top of another, stands right there (`flat`); where
 * one of several files is chosen while the script runs, each is a function of its own scope, run only if it is chosen.
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
export function bundleLua(source, entry, { stands = {}, flat = false, text = read(source, entry) } = {}) {
  const settled = text.replace(REQUIRE, (_, name) => `require('${stands[name] ?? name}')`);
  const order = [];
  collect(source, settled, order);
  const parts = order.map((name) => ({ name, lines: body(read(source, name)) }));
  const main = body(settled);
  return `${flat ? inPlace(parts, main) : asFunctions(parts, main)}\n`;
}

function asFunctions(parts, main) {
  const calls = (text) => text.replace(REQUIRE, (_, name) => `${functionName(name)}()`);
  const functions = parts.map(({ name, lines }) => `local function ${functionName(name)}()\n${calls(lines)}\nend`);
  return [...functions, calls(main)].join('\n');
}

/** A file's locals go on existing after it; what it returns is put where it is required. */
function inPlace(parts, main) {
  const returned = new Map();
  const settle = (text) => text.replace(REQUIRE, (_, name) => returned.get(name));
  const bodies = parts.map(({ name, lines }) => {
    const at = lines.lastIndexOf('return ');
    returned.set(name, settle(lines.slice(at + 'return '.length)));
    return settle(lines.slice(0, at)).trimEnd();
  });
  return [...bodies, settle(main)].filter((text) => text !== '').join('\n');
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
  return lines.filter((line) => line !== '').join('\n');
}

function functionName(name) {
  return name.replace(/^.*\//, '').replace(/-/g, '_');
}

export function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
