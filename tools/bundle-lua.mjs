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
  const script = flat ? flattened(source, settled) : asFunctions(source, settled);
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

/** What is required within a function is needed now and then: that stays a function. */
function flattened(source, entry) {
  const lines = saidOnce(inPlace(source, body(entry)));
  return asFunctions(source, withLocals(used(inlined(used(lines)))).join('\n'));
}

/** Without a repetition of what several files say alike, such as `local call = redis.call`. */
function saidOnce(lines) {
  const isAlias = (line) => /^local [\w, ]+ = [a-z]+\.[\w., ]+$/.test(line);
  return lines.filter((line, index) => !isAlias(line) || lines.indexOf(line) === index);
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
    const after = lines.slice(to + 1);
    const rest = after.flatMap((line, index) =>
      atCall({ line, name, parameters, body, returned, rest: scopeFrom(after, index) }),
    );
    if (rest.length > after.length) refuseCapture(name, body, lines.slice(0, from), after);
    const isStillCalled = rest.some((line) => new RegExp(`\\b${name}\\b`).test(line));
    const before = isStillCalled ? lines.slice(0, to + 1) : lines.slice(0, from);
    if (!isStillCalled) from -= 1;
    lines = [...before, ...rest];
  }
  return lines;
}

/** The lines after one of them, to the end of the function that it is in. */
function scopeFrom(lines, index) {
  const end = lines[index].startsWith(' ') ? lines.indexOf('end', index) : lines.length;
  return lines.slice(index + 1, end);
}

const DECLARES = /^ *local (?:function )?([\w, ]+)/;

function declaredIn(lines) {
  const named = lines.flatMap((line) => DECLARES.exec(line)?.[1].trim().split(', ') ?? []);
  return new Set(named);
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

function isChanged(lines, name) {
  const assigns = new RegExp(`(^|then |else |, )${name}(, \\w+)* = `);
  return lines.some((line) => assigns.test(line.trim()));
}

/** The parameters that need a name of their own: those that are called otherwise where the call is, or are changed. */
function bindings(parameters, given, body) {
  if (parameters === '') return [];
  const values = listed(given);
  const pairs = parameters.split(', ').map((name, index) => [name, values[index]]);
  const needed = pairs.filter(([name, value]) => name !== value || isChanged(body, name));
  if (values.length < pairs.length) return [`local ${parameters} = ${given}`];
  if (needed.length === 0) return [];
  return [`local ${needed.map(([name]) => name).join(', ')} = ${needed.map(([, value]) => value).join(', ')}`];
}

/** `rest`: the lines after the call, as far as its scope may reach. */
function atCall({ line, name, parameters, body, returned, rest }) {
  const call = new RegExp(`^(local )?(?:([\\w, ]+) = )?${name}\\((.*)\\)$`);
  const [found, declares, receivers, given] = call.exec(line.trim()) ?? [];
  if (found === undefined) return [line];
  const bound = bindings(parameters, given, body);
  return received({ name, declares, receivers, bound, body, returned, rest }).map((text) => ` ${text}`);
}

/**
 * What a function returns should need no moving about: its own variables become the receivers where they are called the same,
 * or it assigns to the receivers where nothing of its own is called as they are.
 */
function received({ name, declares, receivers, bound, body, returned, rest }) {
  if (receivers === undefined) return ['do', ...bound, ...body, 'end'];
  const names = receivers.split(', ');
  const values = listed(returned).slice(0, names.length);
  const own = declaredIn([...bound, ...body]);
  if (declares !== undefined && [...own].every((word) => names.includes(word) || !mentions(rest, word))) {
    const atTop = declaredIn([...bound, ...body].filter((_, index, all) => depthBefore(all, index) === 0));
    const moved = names.flatMap((to, index) => (to === values[index] && atTop.has(to) ? [] : [[to, values[index]]]));
    if (moved.length === 0) return [...bound, ...body];
    const [to, from] = [moved.map(([word]) => word), moved.map(([, value]) => value)];
    return [...bound, ...body, `local ${to.join(', ')} = ${from.join(', ')}`];
  }
  const isFree = names.every(
    (word) => !own.has(word) && (declares === undefined || !mentions([...bound, ...body], word)),
  );
  const block = (to) => ['do', ...bound, ...body, `${to} = ${values.join(', ')}`, 'end'];
  if (isFree) return [...(declares === undefined ? [] : [`local ${receivers}`]), ...block(receivers)];
  const results = names.map((_, index) => `${name}_${index + 1}`).join(', ');
  return [`local ${results}`, ...block(results), `${declares ?? ''}${receivers} = ${results}`];
}

/** The parts of a list of expressions; a comma within parentheses is not one of the list. */
function listed(text) {
  const parts = text.split(', ');
  const opens = (part) => part.split('(').length - part.split(')').length;
  return parts.reduce(
    ([done, open], part) => {
      const whole = open === 0 ? [...done, part] : [...done.slice(0, -1), `${done.at(-1)}, ${part}`];
      return [whole, open + opens(part)];
    },
    [[], 0],
  )[0];
}

function mentions(lines, word) {
  const found = new RegExp(`(?<![.'\\w])${word}\\b`);
  return lines.some((line) => found.test(line));
}

/** How many blocks are open before a line. */
function depthBefore(lines, index) {
  const count = (words) => lines.slice(0, index).join('\n').match(words)?.length ?? 0;
  return count(/\b(do|then|repeat|function)\b/g) - count(/\b(end|until|elseif)\b/g);
}

/** A function that takes nothing is one that loops: what it reads from outside and never changes it should find close by. */
function withLocals(lines) {
  return lines.flatMap((line, from) => {
    const [, name, parameters] = FUNCTION.exec(line) ?? [];
    if (name === undefined || parameters !== '') return [line];
    const body = lines.slice(from + 1, lines.indexOf('end', from));
    const outside = declaredIn(lines.slice(0, from).filter((text) => !text.startsWith(' ')));
    const own = declaredIn(body);
    const near = [...outside].filter((word) => !own.has(word) && mentions(body, word) && !isChanged(body, word));
    return near.length === 0 ? [line] : [line, `  local ${near.join(', ')} = ${near.join(', ')}`];
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
  const lines = text.split('\n').map((line) => line.replace(/(^|\s+)--\s.*$/, '').trimEnd());
  return lines.filter((line) => line !== '').join('\n');
}

function functionName(name) {
  return name.replace(/^.*\//, '').replace(/-/g, '_');
}

export function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
