/**
 * Scripts are put together here, from the Lua of the algorithms they are for and what stands around it. A program that uses one algorithm
 * carries the Lua of one; Redis keeps a script by its SHA-1 after the first call.
 *
 *     the arguments, and the clock
 *     lone     what is decided ahead of all functions, for one attempt or one release
 *     expiry   when keys expire
 *     value    how states that are one short value are read and written, for algorithms that do not bring that themselves
 *     block    what a blocked key is told
 *     the algorithm, or MODULES: a function for each of several
 *     the entry: decide-one, decide-many, decide, change, or what the algorithm brings: release, history
 */
import type { Rule } from '../model/rule.ts';
import type { Script } from './run-script.ts';
import {
  blockLua,
  changeLua,
  clockLua,
  decideLua,
  decideManyLua,
  decideOneLua,
  expiryLua,
  loneReadLua,
  loneWriteLua,
  valueChangesLua,
  valueLua,
} from './scripts.generated.ts';
import { sha1 } from './sha1.ts';

const ENTRIES = {
  decide: decideLua,
  change: changeLua,
};

/** Scripts for one algorithm, and scripts for several. */
export type SingleEntry = 'many' | 'history' | 'release';
export type SeveralEntry = 'decide' | 'change';

const SUPPLIED = 'local supplied=ARGV[1]';
const ARGUMENTS = `local x,y,z=ARGV[2]+0.0,ARGV[3]+0.0,ARGV[4] ${SUPPLIED}`;
const LONE_ARGUMENTS = `${ARGUMENTS} local unit,steady,cost=ARGV[3],false,ARGV[5]`;
const DECIDES = 'grain=grain,read=read,write=write,transition=transition';
const CHANGES = 'replace=replace,seal=seal,penalize=penalize,refund=refund';

const EXTENDS = ',extend=extend';
/** What a lone attempt reads, unless its algorithm reads otherwise. */
const READ_ALL = "local raw=call('GET',key)";

const made = new Map<string, Script>();
/** A number for each algorithm's Lua, so that a script is found by a short name. */
const numbers = new Map<string, number>();

/** The number of a rule's Lua. Rules of the same algorithm have the same. */
export function luaNumber({ redis }: Rule): number {
  const { lua } = redis!;
  const known = numbers.get(lua);
  if (known !== undefined) return known;
  numbers.set(lua, numbers.size + 1);
  return numbers.size;
}

export function singleScript(entry: SingleEntry, rule: Rule): Script {
  const { lua, releaseLone } = rule.redis!;
  return kept(`${entry} ${luaNumber(rule)}`, () =>
    [
      ARGUMENTS,
      clockLua,
      ...(entry === 'release' && releaseLone !== undefined ? [releaseLone] : []),
      ...surroundings([lua], false),
      entry === 'many' ? decidingPart(lua) : lua,
      entry === 'many' ? decideManyLua : rule.redis![entry],
    ].join('\n'),
  );
}

/** The script for one attempt, and whether the arguments of the algorithm are in it. */
export interface LoneScript extends Script {
  readonly hasArguments: boolean;
}

/**
 * For so many policies of a process the arguments are in the script, which then has less to read with every call. A server keeps all scripts it has
 * seen, so there is an end to it: those of further policies are sent with each call.
 */
const MOST_OF_THEIR_OWN = 32;
let ofTheirOwn = 0;

export function loneScript(rule: Rule): LoneScript {
  const own = ofTheirOwn < MOST_OF_THEIR_OWN ? ownArguments(rule) : undefined;
  if (own !== undefined) ofTheirOwn += 1;
  const source = loneSource(own ?? LONE_ARGUMENTS, rule);
  return { source, sha1: sha1(source), hasArguments: own !== undefined };
}

function loneSource(args: string, { redis }: Rule): string {
  const { lua, lone, loneRead = READ_ALL } = redis!;
  const ahead = lone === undefined ? ['local raw'] : [loneReadLua, loneRead, lone, loneWriteLua];
  return [args, clockLua, ...ahead, ...surroundings([lua], false), decidingPart(lua), decideOneLua].join('\n');
}

/** Undefined for arguments that cannot be written down as they are. */
function ownArguments({ redis, identity, numbers }: Rule): string | undefined {
  const { args, argsAt, code } = redis!;
  const [x, y, z] = args;
  if (argsAt !== undefined || ![x, y].every((text) => /^\d+(\.\d+)?$/.test(text)) || !/^[\w<]*$/.test(z))
    return undefined;
  // A policy with a name may come with other numbers next time, and so may one that stands in for another.
  const steady = identity === code + numbers;
  const values = [...[x, y].map((text) => (text.includes('.') ? text : `${text}.0`)), `'${z}'`, `'${y}'`, steady];
  return `local x,y,z,unit,steady=${values.join(',')} local supplied,cost=ARGV[1]or'',ARGV[2]`;
}

/** `rules` of different algorithms, in the order in which the arguments name them from 1 on. */
export function severalScript(entry: SeveralEntry, rules: readonly Rule[]): Script {
  const name = `${entry} ${rules.map(luaNumber).join(' ')}`;
  return kept(name, () => severalSource(ENTRIES[entry], rules, entry === 'change'));
}

/** A script over several algorithms, for decisions alone or also for changes. */
export function severalSource(entry: string, rules: readonly Rule[], changes: boolean): string {
  const luas = rules.map(({ redis }) => redis!.lua);
  const modules = luas.map((lua) => {
    const functions = changes
      ? `${DECIDES},${CHANGES}${lua.includes('local function extend') ? EXTENDS : ''}`
      : DECIDES;
    return `function(x,y,z)\n${changes ? lua : decidingPart(lua)}\nreturn{${functions}}end`;
  });
  return [SUPPLIED, clockLua, ...surroundings(luas, changes), `local MODULES={${modules.join(',')}}`, entry].join('\n');
}

function kept(name: string, make: () => string): Script {
  let script = made.get(name);
  if (script === undefined) {
    const source = make();
    script = { source, sha1: sha1(source) };
    made.set(name, script);
  }
  return script;
}

function surroundings(luas: readonly string[], changes: boolean): string[] {
  const hasValues = luas.some((lua) => !lua.includes('READS_WHOLE'));
  return [expiryLua, ...(hasValues ? [valueLua] : []), ...(hasValues && changes ? [valueChangesLua] : []), blockLua];
}

/** What a decision needs comes before what changes need: a script makes its functions anew with every call. */
function decidingPart(lua: string): string {
  const changes = lua.indexOf('local function penalize');
  return changes < 0 ? lua : lua.slice(0, changes);
}

const FORGET_SOURCE =
  "redis.call('DEL',(table.unpack or unpack)(KEYS))local t=redis.call('TIME')return string.format('%d',t[1]*1000000.0+t[2])";
/** Removes all states that are named, and says what time it is in microseconds. */
export const FORGET: Script = { source: FORGET_SOURCE, sha1: /* @__PURE__ */ sha1(FORGET_SOURCE) };

/** Writes a key that is gone a millisecond later: whether the server can do what an attempt needs. */
export const PROBE = "return redis.call('SET',KEYS[1],'','PX','1')";
