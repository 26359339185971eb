/** How checks are written for the scripts, and how their replies are read. The other side is redis/lua/. */
import type { Spent } from '../model/algorithm.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import { SluiceError } from '../model/errors.ts';
import { type AlgorithmCode, algorithmCode, type Policy } from '../model/policy.ts';
import type { Change, Verdict, Verdicts } from '../model/store.ts';
import type { Answers } from './ask.ts';

/** What a policy is for the scripts: the letter of its algorithm and the three arguments its Lua file names. */
export interface WirePolicy {
  readonly code: AlgorithmCode;
  readonly words: readonly [string, string, string];
  /** The same for policies that mean the same to a script: a function of the context makes a new object for every attempt. */
  readonly identity: string;
  /** This one as the list of all policies of an attempt, so that it need not be made for each. */
  readonly alone: readonly [WirePolicy];
}

const written = new WeakMap<Policy, WirePolicy>();

export function wirePolicy(policy: Policy): WirePolicy {
  const known = written.get(policy);
  if (known !== undefined) return known;
  const [code, words] = [algorithmCode(policy), algorithmWords(policy)];
  const alone: WirePolicy[] = [];
  const made: WirePolicy = { code, words, identity: `${code} ${words.join(' ')}`, alone: alone as never };
  alone.push(made);
  written.set(policy, made);
  return made;
}

function algorithmWords(policy: Policy): WirePolicy['words'] {
  switch (policy.algorithm) {
    case 'fixed-window':
      return [String(policy.limit), String(toMicros(policy.window)), policy.align];
    case 'sliding-window-log':
      return [String(policy.limit), String(toMicros(policy.window)), logEntryFormat(policy)];
    case 'sliding-window-counter':
      return [String(policy.limit), String(toMicros(policy.window)), ''];
    case 'token-bucket':
      return [String(policy.capacity), String(policy.refillRate), ''];
    case 'leaky-bucket':
      return policy.mode === 'shaping'
        ? [String(policy.capacity), String(MICROS_PER_SECOND / policy.leakRate), '1']
        : [String(policy.capacity), String(policy.leakRate), ''];
    case 'gcra':
      return [String(policy.capacity), String(toMicros(policy.period) / policy.limit), ''];
  }
}

/** How sliding-window-log.lua packs an entry: a time within the window and a number up to the limit, in as few bytes as hold them. */
function logEntryFormat({ limit, window }: Extract<Policy, { algorithm: 'sliding-window-log' }>): string {
  return `<I${bytesFor(toMicros(window))}I${bytesFor(limit + 1)}`;
}

function bytesFor(range: number): number {
  let bytes = 1;
  while (256 ** bytes < range) bytes += 1;
  return bytes;
}

const NEVER = -1;

/** `more` is what else there is to say, see decide-one.lua. */
function verdictOf(remaining: number, resetAfter: number, more: number): Verdict {
  if (more === 0) return { allowed: true, remaining, retryAfter: 0, resetAfter, delay: 0 };
  if (more < NEVER) return { allowed: true, remaining, retryAfter: 0, resetAfter, delay: NEVER - more };
  const retryAfter = more === NEVER ? Number.POSITIVE_INFINITY : more;
  return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
}

/** The reply of decide-one.lua. */
export function readOne(reply: unknown): Answers {
  const numbers = wholeNumbers(String(reply));
  if (numbers?.length !== 3 && numbers?.length !== 4) throw unexpected(reply);
  return { now: numbers[0]!, each: [[verdictOf(numbers[1]!, numbers[2]!, numbers[3] ?? 0)]] };
}

/** The reply of decide-many.lua. */
export function readMany(reply: unknown, attempts: number): Answers {
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

/** The reply of decide.lua: a line for each attempt, which is three numbers for each policy, or an error of that attempt alone. */
export function readLines(reply: unknown, attempts: number, policies: number): Answers {
  const [first = '', ...lines] = String(reply).split('\n');
  const now = wholeNumbers(first);
  if (now?.length !== 1 || lines.length !== attempts) throw unexpected(reply);
  const each = lines.map((line) => {
    if (line.startsWith('!')) return new Error(line.slice(1));
    const numbers = wholeNumbers(line.trimStart());
    if (numbers?.length !== 3 * policies) throw unexpected(reply);
    return Array.from({ length: policies }, (_, index) => {
      const at = index * 3;
      return verdictOf(numbers[at]!, numbers[at + 1]!, numbers[at + 2]!);
    });
  });
  return { now: now[0]!, each };
}

/** How change.lua takes a change. */
export function changeWords(change: Change): string[] {
  const { code, words } = wirePolicy(change.policy);
  return [change.verb, code, ...words, ...amountWords(change)];
}

function amountWords(change: Change): [amount: string, spentAt: string, spentUntil: string, spentCost: string] {
  switch (change.verb) {
    case 'refund':
      return [String(change.cost), ...spentWords(change.spent)];
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

/** The reply of change.lua: a line for each change, three numbers and by how much the state changed. */
export function readChanges(reply: unknown, changes: number): Verdicts {
  const [first = '', ...lines] = String(reply).split('\n');
  const now = Number(first);
  const verdicts = lines.map((line) => {
    const [remaining, resetAfter, more, changed] = line.split(' ').map(Number);
    return { ...verdictOf(remaining!, resetAfter!, more!), changed };
  });
  const isWhole = verdicts.every(({ changed, resetAfter }) => Number.isFinite(changed) && resetAfter >= 0);
  if (verdicts.length !== changes || !isWhole || !Number.isSafeInteger(now)) throw unexpected(reply);
  return { now, verdicts, source: 'store' };
}

/** The reply of history.lua: time, units, time, units, ... */
export function readHistory(reply: unknown): HistoryEntry[] {
  if (!Array.isArray(reply)) throw unexpected(reply);
  const numbers = reply.length === 0 ? [] : wholeNumbers(reply.join(' '));
  if (numbers?.length !== reply.length || reply.length % 2 !== 0) throw unexpected(reply);
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    at: numbers[index * 2]! / MICROS_PER_SECOND,
    cost: numbers[index * 2 + 1]!,
  }));
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
  return new SluiceError({
    code: 'SLUICE_UNEXPECTED_REPLY',
    path: 'redis',
    expected: "the reply of Sluice's own script",
    got: reply,
  });
}
