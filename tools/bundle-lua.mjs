/**
 * Lua lives in real files. A file is a chunk that takes arguments (`local limit, size = ...`) and ends with what it returns;
 * `require('folder/name')(arguments)` runs it. Redis takes one string, and runs all of it for every call: what it does not
 * need to create, it should not. So a file that is required once, at the top of another, stands right there (`flat`); where
 * one of several files is chosen while the script runs, each is a function of its own scope, run only if it is chosen.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const REQUIRE = /require\('([^']+)'\)/g;
const REQUIRED_HERE = /^(local [\w, ]+ = |return )require\('([^']+)'\)\((.*)\)$/;
const FOLDERS = ['redis/lua', 'algorithms'];

/**
 * The entry (a name in redis/lua) with all it requires, as one script. `stands` says which file a required name stands for;
 * `text` is an entry of its own, for tests.
 */
export function bundleLua(source, entry, { stands = {}, flat = false, text = read(source, entry) } = {}) {
  const settled = text.replace(REQUIRE, (_, name) => `require('${stands[name] ?? name}')`);
  return `${flat ? inPlace(source, body(settled)).join('\n') : asFunctions(source, settled)}\n`;
}

function asFunctions(source, entry) {
  const order = [];
  collect(source, entry, order);
  const calls = (text) => text.replace(REQUIRE, (_, name) => functionName(name));
  const functions = order.map(
    (name) => `local function ${functionName(name)}(...)\n${calls(body(read(source, name)))}\nend`,
  );
  return [...functions, calls(body(entry))].join('\n');
}

/** A required file's lines stand before the line that requires it; what it returns is what that line gets. */
function inPlace(source, text) {
  return text.split('\n').flatMap((line) => {
    const [, receiver, name, given] = REQUIRED_HERE.exec(line) ?? [];
    if (name === undefined) return [line];
    const lines = inPlace(source, body(read(source, name)).replaceAll('...', given));
    const returned = lines.pop().slice('return '.length);
    const received = `${receiver}${returned}`;
    return received === `local ${returned} = ${returned}` ? lines : [...lines, received];
  });
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
  const lines = text.split('\n').map((line) => line.replace(/(^|\s+)--\s.*$/, '').trim());
  return lines.filter((line) => line !== '').join('\n');
}

function functionName(name) {
  return name.replace(/^.*\//, '').replace(/-/g, '_');
}

export function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
