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
  const script = flat ? used(inlined(used(inPlace(source, body(settled))))).join('\n') : asFunctions(source, settled);
  return `${script.replace(/^ +/gm, '')}\n`;
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
    const taken = body(read(source, name)).replaceAll('...', given).split('\n');
    const lines = inPlace(source, taken.filter((text) => text !== `local ${given} = ${given}`).join('\n'));
    const returned = needed(receiver, lines.pop().slice('return '.length));
    const received = `${receiver}${returned}`;
    return received === `local ${returned} = ${returned}` ? lines : [...lines, received];
  });
}

/** Of what a file returns, as much as is received. */
function needed(receiver, returned) {
  if (receiver === 'return ') return returned;
  return returned.split(', ').slice(0, receiver.split(', ').length).join(', ');
}

const FUNCTION = /^local function (\w+)\((.*)\)$/;

/** Without the functions that nobody calls. */
function used(lines) {
  for (const [from, line] of lines.entries()) {
    const [, name] = FUNCTION.exec(line) ?? [];
    if (name === undefined) continue;
    const rest = lines.toSpliced(from, lines.indexOf('end', from) + 1 - from);
    if (!rest.some((other) => new RegExp(`\\b${name}\\b`).test(other))) return used(rest);
  }
  return lines;
}

/**
 * A function's body stands where it is called, if its only `return` is its last line and the call is a line of its own
 * (`name(...)`, `a, b = name(...)`, `local a, b = name(...)`): making and calling functions is most of what a short script costs.
 */
function inlined(given) {
  let lines = given;
  for (let from = 0; from < lines.length; from += 1) {
    const [, name, parameters] = FUNCTION.exec(lines[from]) ?? [];
    if (name === undefined) continue;
    const to = lines.indexOf('end', from);
    const body = lines.slice(from + 1, to);
    const returned = body.at(-1).trim().startsWith('return ') ? body.pop().trim().slice('return '.length) : '';
    if (body.some((line) => /\breturn\b/.test(line))) continue;
    const rest = lines.slice(to + 1).flatMap((line) => atCall({ line, name, parameters, body, returned }));
    if (rest.length > lines.length - to - 1) refuseCapture(name, body, lines.slice(0, from), lines.slice(to + 1));
    const isStillCalled = rest.some((line) => new RegExp(`\\b${name}\\b`).test(line));
    const before = isStillCalled ? lines.slice(0, to + 1) : lines.slice(0, from);
    if (!isStillCalled) from -= 1;
    lines = [...before, ...rest];
  }
  return lines;
}

const DECLARES = /^ *local (?:function )?([\w, ]+)/;

function declaredIn(lines) {
  return new Set(lines.flatMap((line) => (DECLARES.exec(line)?.[1] ?? '').split(', ')));
}

/** What a function sees from outside must be the same where it is called: nothing of that name may be declared in between. */
function refuseCapture(name, body, before, after) {
  const outside = declaredIn(before.filter((line) => !line.startsWith(' ')));
  const anew = declaredIn(after);
  const own = declaredIn(body);
  const words = new Set(body.flatMap((line) => line.match(/(?<![.'\w])[a-zA-Z_]\w*/g) ?? []));
  const captured = [...words].filter((word) => outside.has(word) && anew.has(word) && !own.has(word));
  if (captured.length > 0)
    throw new Error(`${name}() would see another ${captured.join(', ')} where it is called: rename one`);
}

/** The parameters that need a name of their own: those that are called otherwise where the call is, or are changed. */
function bindings(parameters, given, body) {
  if (parameters === '') return [];
  const values = given.split(', ');
  const pairs = parameters.split(', ').map((name, index) => [name, values[index]]);
  const isChanged = (name) =>
    body.some((line) => new RegExp(`(^|then |else |, )${name}(, \\w+)* = `).test(line.trim()));
  const needed = pairs.filter(([name, value]) => name !== value || isChanged(name));
  if (values.length !== pairs.length) return [`local ${parameters} = ${given}`];
  if (needed.length === 0) return [];
  return [`local ${needed.map(([name]) => name).join(', ')} = ${needed.map(([, value]) => value).join(', ')}`];
}

function atCall({ line, name, parameters, body, returned }) {
  const call = new RegExp(`^(local )?(?:([\\w, ]+) = )?${name}\\((.*)\\)$`);
  const [found, declares = '', receivers, given] = call.exec(line.trim()) ?? [];
  if (found === undefined) return [line];
  const bound = bindings(parameters, given, body);
  if (receivers === undefined) return ['do', ...bound, ...body, 'end'].map((text) => ` ${text}`);
  const results = receivers
    .split(', ')
    .map((_, index) => `${name}_${index + 1}`)
    .join(', ');
  const block = [`local ${results}`, 'do', ...bound, ...body, `${results} = ${returned}`, 'end'];
  return [...block, `${declares}${receivers} = ${results}`].map((text) => ` ${text}`);
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
  const lines = text.split('\n').map((line) => line.replace(/(^|\s+)--\s.*$/, '').trimEnd());
  return lines.filter((line) => line !== '').join('\n');
}

function functionName(name) {
  return name.replace(/^.*\//, '').replace(/-/g, '_');
}

export function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
