/** How checks are written for the scripts, and how their replies are read. The other side is redis/lua/. */
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import { SluiceError } from '../model/errors.ts';
import { type AlgorithmCode, algorithmCode, type Policy } from '../model/policy.ts';
import type { Verdict } from '../model/store.ts';

/** What a policy is for the scripts: the letter of its algorithm and the three arguments its Lua file names. */
export interface WirePolicy {
  readonly code: AlgorithmCode;
  readonly words: readonly [string, string, string];
  /** The same for policies that mean the same to a script: a function of the context makes a new object for every attempt. */
  readonly identity: string;
}

const written = new WeakMap<Policy, WirePolicy>();

export function wirePolicy(policy: Policy): WirePolicy {
  const known = written.get(policy);
  if (known !== undefined) return known;
  const [code, words] = [algorithmCode(policy), algorithmWords(policy)];
  const made = { code, words, identity: `${code} ${words.join(' ')}` };
  written.set(policy, made);
  return made;
}

function algorithmWords(policy: Policy): WirePolicy['words'] {
  switch (policy.algorithm) {
    case 'fixed-window':
      return [String(policy.limit), String(toMicros(policy.window)), policy.align];
    case 'sliding-window-log':
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

const NUMBERS_PER_CHECK = 5;
const NEVER = -1;

export interface Answers {
  readonly now: number;
  readonly verdicts: readonly Verdict[];
}

/** The reply of decide.lua: the time, and five numbers for each check. */
export function readAnswers(reply: unknown, checks: number): Answers {
  const numbers = wholeNumbers(String(reply));
  if (numbers === undefined || numbers.length !== 1 + checks * NUMBERS_PER_CHECK) throw unexpected(reply);
  const verdicts: Verdict[] = [];
  for (let at = 1; at < numbers.length; at += NUMBERS_PER_CHECK) verdicts.push(verdictAt(numbers, at));
  return { now: numbers[0]!, verdicts };
}

function verdictAt(numbers: readonly number[], at: number): Verdict {
  const retryAfter = numbers[at + 2]!;
  return {
    allowed: numbers[at] === 1,
    remaining: numbers[at + 1]!,
    retryAfter: retryAfter === NEVER ? Number.POSITIVE_INFINITY : retryAfter,
    resetAfter: numbers[at + 3]!,
    delay: numbers[at + 4]!,
  };
}

/** The reply of decide-many.lua: a line for each attempt, which is an answer or an error of that attempt alone. */
export function readManyAnswers(reply: unknown, attempts: number): { now: number; each: readonly (Verdict | Error)[] } {
  const text = String(reply);
  if (!text.includes('!')) {
    const { now, verdicts } = readAnswers(text, attempts);
    return { now, each: verdicts };
  }
  const [now = '', ...lines] = text.split('\n');
  if (lines.length !== attempts) throw unexpected(reply);
  const each = lines.map((line) =>
    line.startsWith('!') ? new Error(line.slice(1)) : readAnswers(`${now} ${line}`, 1).verdicts[0]!,
  );
  return { now: Number(now), each };
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
