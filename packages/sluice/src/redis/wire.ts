/** How questions are written for the scripts, and how their replies are read. The other side is redis/lua/. */
import { readMicros, systemClock } from '../model/clock.ts';
import type { Decision } from '../model/decision.ts';
import { mistaken, type SluiceError, wrong } from '../model/errors.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decisionOf, resultOf, type Verdict } from '../model/result.ts';
import type { RedisTwin, Rule } from '../model/rule.ts';
import type { Spent } from '../model/step.ts';
import type { Answer, Change, Changes } from '../model/store.ts';
import type { Script } from './run-script.ts';
import { type LoneScript, loneScript, luaNumber, severalScript, singleScript } from './scripts.ts';

/** A verdict, and of a change by how many units the state changed. */
export type Told = Verdict & { readonly changed?: number };

/** What a script decided, in microseconds. */
export interface Reply {
  /** The reading of the clock that decided. */
  readonly now: number;
  /** For each attempt its verdicts, or the error that is its alone. */
  readonly each: readonly (readonly Told[] | Error)[];
  /** Of an attempt that is more than yes or no: what became of its mark, and how much it got. */
  readonly mark?: Answer['mark'];
  readonly granted?: number;
}

/** One attempt, as the scripts need it: its rules, and a key and a cost for each of them. */
export interface Ask {
  /** The same for attempts that can share a call: of the same rules. */
  readonly group: string;
  readonly rules: readonly Rule[];
  readonly keys: readonly string[];
  readonly costs: readonly number[];
  /** It is no attempt: the spend that is known by this moment is given back, or lasts for longer. */
  readonly permit?: number | undefined;
  readonly isExtended?: boolean | undefined;
}

/** What a call sends: a script, and its arguments. */
export interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  read(reply: unknown): Reply;
}

/** What is made once for a rule. */
interface Prepared {
  readonly group: string;
  lone?: LoneScript;
}

const prepared = new WeakMap<Rule, Prepared>();

function preparedOf(rule: Rule): Prepared {
  const known = prepared.get(rule);
  if (known !== undefined) return known;
  const made = { group: `${luaNumber(redisRule(rule))} ${rule.redis!.args.join(' ')}` };
  prepared.set(rule, made);
  return made;
}

/** The arguments of a rule's Lua. `now` is '' for the server's own clock: this process's is then close enough to say which could be meant. */
export function argsOf({ redis }: Rule, now: string): RedisTwin['args'] {
  const { args, argsAt } = redis!;
  return argsAt === undefined ? args : argsAt(now === '' ? readMicros(systemClock) : Number(now));
}

/** What tells the rules of attempts apart, for a script. */
export function groupOf(rules: readonly Rule[]): string {
  if (rules.length === 1) return preparedOf(rules[0]!).group;
  return rules.map((rule) => preparedOf(rule).group).join(',');
}

/** A rule without a twin in Lua works everywhere else. */
export function redisRule(rule: Rule): Rule {
  if (rule.redis !== undefined) return rule;
  throw mistaken(
    'SLUICE_INVALID_POLICY',
    'policy.algorithm',
    `The algorithm ${rule.policy.algorithm} has no Lua, so its policies do not work on Redis. Give defineAlgorithm a \`redis\` part, or use another store.`,
  );
}

/** What an attempt asks for besides its costs. */
export interface Special {
  readonly dryRun?: boolean | undefined;
  readonly least?: number | undefined;
  /** The name of the mark, and for how many microseconds it is kept. */
  readonly mark?: { readonly name: string; readonly ttl: number } | undefined;
}

/** `now` is '' for the server's own clock. Of one attempt there may be more to say. */
export function callOf(asks: readonly Ask[], now: string, special?: Special): Call {
  const [first] = asks;
  if (first!.permit !== undefined) return callOfReleases(asks, now);
  if (special !== undefined || first!.rules.length > 1) return callOfSeveral(asks, now, special);
  if (asks.length === 1) return callOfOne(first!, now);
  const rule = first!.rules[0]!;
  const args = [now, ...argsOf(rule, now)];
  if (asks.some(({ costs }) => costs[0] !== 1)) for (const { costs } of asks) args.push(String(costs[0]));
  const keys = asks.map((ask) => ask.keys[0]!);
  return { script: singleScript('many', rule), keys, args, read: (reply) => readMany(reply, asks.length) };
}

/** A cost of 1 on the server's clock goes without saying, where the script has the arguments. */
function callOfOne({ rules, keys, costs }: Ask, now: string): Call {
  const rule = rules[0]!;
  const ready = preparedOf(rule);
  ready.lone ??= loneScript(rule);
  const script = ready.lone;
  const args = script.hasArguments ? (now === '' && costs[0] === 1 ? NONE : [now]) : [now, ...argsOf(rule, now)];
  return { script, keys, args: costs[0] === 1 ? args : [...args, String(costs[0])], read: readOne };
}

const NONE: readonly string[] = [];

/** Attempts under several policies, or one that is only looked at, remembered or granted in part. */
function callOfSeveral(asks: readonly Ask[], now: string, { dryRun, least, mark }: Special = {}): Call {
  const { rules } = asks[0]!;
  const modules = distinct(rules);
  const args = [now, dryRun ? '1' : '', String(rules.length), String(least ?? ''), String(mark?.ttl ?? '')];
  for (const rule of rules) args.push(moduleNumber(modules, rule), ...argsOf(rule, now));
  for (const { costs } of asks) for (const cost of costs) args.push(String(cost));
  const keys = asks.flatMap((ask) => ask.keys);
  const isPlain = least === undefined && mark === undefined;
  return {
    script: severalScript('decide', modules),
    keys: mark === undefined ? keys : [...keys, mark.name],
    args,
    read: (reply) => (isPlain ? readLines(reply, asks.length, rules.length) : readGrant(reply, rules.length)),
  };
}

/** Spends that last until they are given back. */
function callOfReleases(asks: readonly Ask[], now: string): Call {
  const rule = asks[0]!.rules[0]!;
  const args = [now, ...argsOf(rule, now)];
  for (const { permit, costs, isExtended } of asks) args.push(String(permit), isExtended ? '' : String(costs[0]));
  return {
    script: singleScript('release', rule),
    keys: asks.map(({ keys }) => keys[0]!),
    args,
    read: (reply) => readReleases(reply, asks.length),
  };
}

/** One rule for each algorithm. */
function distinct(rules: readonly Rule[]): readonly Rule[] {
  const byLua = new Map(rules.map((rule) => [luaNumber(redisRule(rule)), rule]));
  return [...byLua.values()].sort((one, other) => luaNumber(one) - luaNumber(other));
}

function moduleNumber(modules: readonly Rule[], rule: Rule): string {
  return String(1 + modules.findIndex((other) => luaNumber(other) === luaNumber(rule)));
}

const NEVER = -1;

/** `more` is what else there is to say, see redis/lua/block.lua. */
function verdictOf(remaining: number, resetAfter: number, more: number): Verdict {
  if (more === 0) return { allowed: true, remaining, retryAfter: 0, resetAfter, delay: 0 };
  if (more < NEVER) return { allowed: true, remaining, retryAfter: 0, resetAfter, delay: NEVER - more };
  const retryAfter = more === NEVER ? Number.POSITIVE_INFINITY : more;
  return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
}

/** The reply of decide-one.lua. */
function readOne(reply: unknown): Reply {
  const numbers = wholeNumbers(String(reply));
  if (numbers?.length !== 3 && numbers?.length !== 4) throw unexpected(reply);
  return { now: numbers[0]!, each: [[verdictOf(numbers[1]!, numbers[2]!, numbers[3] ?? 0)]] };
}

/** The reply of decide-many.lua. */
function readMany(reply: unknown, attempts: number): Reply {
  const text = String(reply);
  if (text.includes('!')) return readLines(reply, attempts, 1);
  const numbers = wholeNumbers(text);
  const count = numbers?.length;
  if (numbers === undefined || (count !== 1 + 2 * attempts && count !== 1 + 3 * attempts)) throw unexpected(reply);
  const each: Verdict[][] = [];
  const more = 1 + 2 * attempts;
  for (let at = 0; at < attempts; at += 1) {
    each.push([verdictOf(numbers[1 + at * 2]!, numbers[2 + at * 2]!, count === more ? 0 : numbers[more + at]!)]);
  }
  return { now: numbers[0]!, each };
}

/** The reply of decide.lua: a line for each attempt, which is three numbers for each policy. */
function readLines(reply: unknown, attempts: number, policies: number): Reply {
  return readEach(reply, attempts, 3 * policies, (numbers) =>
    Array.from({ length: policies }, (_, index) => verdictAt(numbers, index * 3)),
  );
}

/** The same of one attempt, with a line about its mark and what was granted. */
function readGrant(reply: unknown, policies: number): Reply {
  const [, lines, mark, granted] = /^(.*)\n(made|found|-) (\d+)$/s.exec(String(reply)) ?? [];
  if (granted === undefined) throw unexpected(reply);
  return {
    ...readLines(lines, 1, policies),
    mark: mark === 'made' || mark === 'found' ? mark : undefined,
    granted: Number(granted),
  };
}

/** The reply of release.lua: of many a line for each, of one everything in one line. */
function readReleases(reply: unknown, asks: number): Reply {
  const alone = asks === 1 ? wholeNumbers(String(reply)) : undefined;
  if (alone?.length === 5) return { now: alone[0]!, each: [releaseAt(alone, 1)] };
  return readEach(reply, asks, 4, (numbers) => releaseAt(numbers, 0));
}

function releaseAt(numbers: readonly number[], at: number): readonly Told[] {
  return [{ ...verdictAt(numbers, at), changed: numbers[at + 3]! }];
}

function verdictAt(numbers: readonly number[], at: number): Verdict {
  return verdictOf(numbers[at]!, numbers[at + 1]!, numbers[at + 2]!);
}

/** A line for each attempt: so many numbers, or an error of that attempt alone. */
function readEach(
  reply: unknown,
  attempts: number,
  width: number,
  toldOf: (numbers: readonly number[]) => readonly Told[],
): Reply {
  const [first = '', ...lines] = String(reply).split('\n');
  const now = wholeNumbers(first);
  if (now?.length !== 1 || lines.length !== attempts) throw unexpected(reply);
  const each = lines.map((line) => {
    if (line.startsWith('!')) return new Error(line.slice(1));
    const numbers = wholeNumbers(line);
    if (numbers?.length !== width) throw unexpected(reply);
    return toldOf(numbers);
  });
  return { now: now[0]!, each };
}

/** What change.lua takes for these changes, whose keys come after that of the mark if they settle one. */
export function changeCall({ changes, settles }: Changes, now: string): { script: Script; args: string[] } {
  const rules = changes.map(({ policy }) => ruleOf(policy));
  const modules = distinct(rules);
  const args = [now];
  if (settles !== undefined) args.push('settle', '', '', '', '', '', settles.marked.join(' '), '', '');
  for (const [index, change] of changes.entries()) {
    const rule = rules[index]!;
    args.push(change.verb, moduleNumber(modules, rule), ...argsOf(rule, now), ...amountWords(change));
  }
  return { script: severalScript('change', modules), args };
}

function amountWords(change: Change): [amount: string, spentAt: string, spentUntil: string, spentCost: string] {
  switch (change.verb) {
    case 'refund':
      return [String(change.cost), ...spentWords(change.spent)];
    case 'extend':
      return ['0', ...spentWords(change.spent)];
    case 'penalize':
      return [String(change.cost), '', '', ''];
    case 'block':
      return [String(change.duration), '', '', ''];
    case 'unblock':
      return ['0', '', '', ''];
  }
}

function spentWords(spent: Spent | undefined): [at: string, until: string, cost: string] {
  return spent === undefined ? ['', '', ''] : [String(spent.at), String(spent.until), String(spent.cost)];
}

const MARKS = ['found', 'missing'] as const;

/** The reply of change.lua: what became of the mark if there is one; then a line for each change, three numbers and by how much the state changed. */
export function readChanges(reply: unknown, { changes, settles }: Changes): Answer {
  const [first = '', ...rest] = String(reply).split('\n');
  const now = Number(first);
  const mark = settles === undefined ? undefined : MARKS.find((word) => word === rest[0]);
  const lines = settles === undefined ? rest : rest.slice(1);
  if ((settles !== undefined && mark === undefined) || lines.length !== changes.length || !Number.isSafeInteger(now))
    throw unexpected(reply);
  const decisions = lines.map((line, index) => {
    const [remaining, resetAfter, more, changed] = line.split(' ').map(Number);
    if (!Number.isFinite(changed) || !(resetAfter! >= 0)) throw unexpected(reply);
    const rule = ruleOf(changes[index]!.policy);
    return { ...decisionOf(rule, now, verdictOf(remaining!, resetAfter!, more!)), changed };
  });
  return mark === undefined ? resultOf(decisions, 'store') : { ...resultOf(decisions, 'store'), mark };
}

/** The reply of history.lua: a look, and time, units, time, units, ... */
export function readHistory(reply: unknown, policy: Policy): { look: Decision; listed: number[] } {
  const [first = '', ...lines] = String(reply).split('\n');
  const look = wholeNumbers(first);
  const listed = lines.length === 0 ? [] : wholeNumbers(lines.join(' '));
  if (look?.length !== 4 || listed?.length !== lines.length * 2) throw unexpected(reply);
  const [now, remaining, resetAfter, more] = look as [number, number, number, number];
  return { look: decisionOf(ruleOf(policy), now, verdictOf(remaining, resetAfter, more)), listed };
}

const [ZERO, NINE, MINUS, SPACE, LINE] = [48, 57, 45, 32, 10];

/** Whole numbers with one space or line end between them, and nothing else; undefined for anything but that. */
function wholeNumbers(text: string): number[] | undefined {
  const numbers: number[] = [];
  let number = 0;
  let digits = 0;
  let sign = 1;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? SPACE : text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      number = number * 10 + (code - ZERO);
      digits += 1;
    } else if (code === MINUS && digits === 0 && sign === 1) {
      sign = -1;
    } else if ((code === SPACE || code === LINE) && digits > 0) {
      numbers.push(sign * number);
      number = 0;
      digits = 0;
      sign = 1;
    } else {
      return undefined;
    }
  }
  return numbers;
}

function unexpected(reply: unknown): SluiceError {
  return wrong('SLUICE_UNEXPECTED_REPLY', 'redis', "the reply of Sluice's own script", reply);
}
