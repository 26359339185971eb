/**
 * Lua sources made ready for Redis: parsed, checked and printed short. Pieces are put together at run time, in one scope: so each piece may
 * use names that other pieces define, and every other name must be its own. What is not understood is refused, with file and line.
 */
import { readFileSync } from 'node:fs';
import luaparse from 'luaparse';

/** What a server offers to scripts. `unpack` is Lua 5.1's, `table.unpack` that of 5.4: time.lua chooses. */
const SERVER = [
  'redis',
  'struct',
  'string',
  'math',
  'table',
  'KEYS',
  'ARGV',
  'unpack',
  'tonumber',
  'tostring',
  'type',
  'ipairs',
  'pcall',
  'error',
];

/** What the lone part of an algorithm decides: lone-read.lua declares them, so these files alone may assign them. */
const DECIDED = ['remaining', 'reset', 'more', 'state', 'delta', 'lasts', 'grain'];
const DECIDES = /(\.lone|\/lone-write)\.lua$/;

/** Names that pieces share: an algorithm's arguments and functions, and what is around them. They keep their names. */
export const SHARED = [
  ...['x', 'y', 'z', 'transition', 'penalize', 'refund', 'extend', 'read', 'write', 'replace', 'seal', 'entries'],
  'window_at',
  'READS_WHOLE',
  ...['call', 'format', 'now', 'expiry', 'set_option', 'expire_command', 'refused', 'more_of', 'MODULES'],
  ...['supplied', 'cost', 'unit', 'steady', 'key', 'asked', 'raw', 'kept_until', ...DECIDED],
];

/** What means something else, or nothing, in one of Lua 5.1 and 5.4. */
const BANNED_STATEMENTS = new Set(['GotoStatement', 'LabelStatement']);
const BANNED_OPERATORS = new Set(['//', '&', '|', '~', '<<', '>>']);
const BANNED_MEMBERS = { math: ['pow', 'log10', 'fmod', 'mod'], table: ['getn', 'maxn', 'foreach'], string: ['gfind'] };

const KEYWORDS =
  'and break do else elseif end false for function goto if in local nil not or repeat return then true until while'.split(
    ' ',
  );

/** The source of a file, short. */
export function printLua(file, source = readFileSync(file, 'utf8')) {
  const tree = parse(file, source);
  const names = check(file, tree);
  return shorten(source, tree, shortNames(names));
}

function parse(file, source) {
  try {
    return luaparse.parse(source, { luaVersion: '5.1', locations: true, ranges: true, scope: true, comments: false });
  } catch (error) {
    throw new Error(`${file}:${error.line ?? '?'}: ${error.message}`);
  }
}

function check(file, tree) {
  const names = new Set();
  const refuse = (node, why) => {
    throw new Error(`${file}:${node.loc.start.line}: ${why}`);
  };
  walk(tree, (node, parent, place) => {
    if (BANNED_STATEMENTS.has(node.type)) refuse(node, `${node.type} is not in Lua 5.1`);
    if (BANNED_OPERATORS.has(node.operator)) refuse(node, `the operator ${node.operator} is not in Lua 5.1`);
    if (node.type === 'MemberExpression') checkMember(node, refuse);
    if (node.type === 'FunctionDeclaration' && node.identifier !== null && !node.isLocal)
      refuse(node, 'a function must be local');
    if (node.type === 'VarargLiteral') refuse(node, 'no varargs: arguments are named');
    if (node.type !== 'Identifier' || isFieldName(parent, place)) return;
    if (node.isLocal) names.add(node.name);
    else if (!DECIDED.includes(node.name) || !DECIDES.test(file)) checkGlobal(node, parent, place, refuse);
  });
  return names;
}

function checkMember({ base, identifier, ...node }, refuse) {
  if (base.type === 'Identifier' && BANNED_MEMBERS[base.name]?.includes(identifier.name)) {
    refuse(node, `${base.name}.${identifier.name} is not in both Lua 5.1 and 5.4`);
  }
}

function checkGlobal(node, parent, place, refuse) {
  if (parent.type === 'AssignmentStatement' && place === 'variables')
    refuse(node, `"${node.name}" is assigned and not local`);
  if (!SERVER.includes(node.name) && !SHARED.includes(node.name)) refuse(node, `"${node.name}" is defined nowhere`);
}

function isFieldName(parent, place) {
  if (parent.type === 'MemberExpression') return place === 'identifier';
  return parent.type === 'TableKeyString' && place === 'key';
}

function walk(node, visit, parent = {}, place = '') {
  visit(node, parent, place);
  for (const [name, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') walk(child, visit, node, name);
    }
  }
}

/** One short name for each name, wherever it stands: a name means one thing in a file, so scopes need not be followed. */
function shortNames(names) {
  const taken = new Set([...SERVER, ...SHARED, ...KEYWORDS]);
  const short = new Map();
  let next = 0;
  for (const name of names) {
    if (SHARED.includes(name) || SERVER.includes(name)) continue;
    let made;
    do made = letters(next++);
    while (taken.has(made));
    short.set(name, made);
  }
  return short;
}

/** a, b, ... Z, aa, ab, ... */
function letters(number) {
  const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const rest = Math.floor(number / LETTERS.length);
  return (rest === 0 ? '' : letters(rest - 1)) + LETTERS[number % LETTERS.length];
}

/** The tokens with as little between them as there must be. */
function shorten(source, tree, short) {
  const renamed = new Map();
  walk(tree, (node, parent, place) => {
    if (node.type === 'Identifier' && node.isLocal && !isFieldName(parent, place) && short.has(node.name)) {
      renamed.set(node.range[0], short.get(node.name));
    }
  });
  let text = '';
  for (const [from, to] of tokens(source)) {
    const token = renamed.get(from) ?? source.slice(from, to);
    text += (needsSpace(text, token) ? ' ' : '') + token;
  }
  return text;
}

/** Two words, a number and dots, two minuses, two brackets: what would be read as one thing. */
function needsSpace(before, token) {
  const [last, first] = [before.at(-1) ?? '', token[0]];
  if (/\w/.test(last) && /\w/.test(first)) return true;
  if (first === '.') return /[\d.]/.test(last);
  return (first === '-' || first === '[') && last === first;
}

function tokens(source) {
  const parser = luaparse.parse({ wait: true, luaVersion: '5.1', comments: false });
  parser.write(source);
  const ranges = [];
  for (let token = parser.lex(); token.type !== luaparse.tokenTypes.EOF; token = parser.lex()) ranges.push(token.range);
  return ranges;
}
