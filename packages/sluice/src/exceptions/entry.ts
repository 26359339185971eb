/** What an exception is: for whom, what holds instead of the policies, until when and why. Everything is checked and bounded here. */
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind, type SluiceError } from '../model/errors.ts';
import type { ExceptionEntry, ExceptionKind } from '../model/exception.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { isObject } from '../model/policy.ts';
import { parseNetwork } from './network.ts';

export type { ExceptionEntry, ExceptionKind } from '../model/exception.ts';

/** For whom: a key, all keys that begin with a text, or all keys that are addresses of a network (`ip:203.0.113.7`, as `byIp` makes them). */
export type Subject = string | { readonly prefix: string } | { readonly network: string };

/** Until when, and why. Without `for` and `until` there is no end. */
export interface ExceptionOptions {
  /** How long it holds. */
  readonly for?: Duration | undefined;
  /** Or the first moment without it: a date, or text such as `2027-01-31T12:00:00Z`. */
  readonly until?: Date | string | undefined;
  /** For people, at most 200 characters. It is never sent to clients. */
  readonly reason?: string | undefined;
}

/** What an override takes besides. */
export interface OverrideOptions extends ExceptionOptions {
  /** The name of the policy whose numbers change. Default: every policy that has these numbers. */
  readonly policy?: string | undefined;
}

export const MAX_KEY = 1024;
export const MAX_PREFIX = 256;
export const MAX_REASON = 200;
const MAX_NUMBERS = 8;

/** An entry of what a caller wrote. `now` in milliseconds. */
export function entryOf(
  kind: ExceptionKind,
  subject: Subject,
  how: Duration | OverrideOptions | undefined,
  now: number,
  numbers?: unknown,
): ExceptionEntry {
  const options = typeof how === 'object' ? how : { for: how };
  const known = ['for', 'until', 'reason', ...(kind === 'override' ? ['policy'] : [])];
  checkOptionNames(options, known, kind);
  const until = endOf(options, kind, now);
  const { reason, policy } = options;
  return checkEntry({ kind, ...subjectOf(subject, kind), policy, numbers, until, reason } as ExceptionEntry, kind);
}

/** The fields of an entry that came from anywhere, checked: a document of another process, a file, a request. */
export function checkEntry(value: unknown, path: string): ExceptionEntry {
  if (!isObject(value)) throw invalidOption(path, 'an object', Kind.of(value));
  const { kind, key, prefix, network, policy, numbers, until, reason } = value as Partial<ExceptionEntry>;
  if (!['exempt', 'deny', 'override', 'block'].includes(kind as string)) {
    throw invalidOption(`${path}.kind`, "'exempt', 'deny', 'override' or 'block'", kind);
  }
  const named = [key, prefix, network].filter((text) => text !== undefined);
  if (named.length !== 1) throw invalidOption(path, 'one of key, prefix and network', new Kind(`${named.length}`));
  if (key !== undefined) checkText(key, `${path}.key`, MAX_KEY);
  if (prefix !== undefined) checkText(prefix, `${path}.prefix`, MAX_PREFIX);
  if (network !== undefined) parseNetwork(network, `${path}.network`);
  if (policy !== undefined) checkText(policy, `${path}.policy`, 64);
  if (reason !== undefined) checkText(reason, `${path}.reason`, MAX_REASON);
  if (until !== undefined && !Number.isFinite(Date.parse(until))) throw noMoment(`${path}.until`, until);
  if (kind === 'override') checkNumbers(numbers, `${path}.numbers`);
  const all = { kind, key, prefix, network, policy, numbers, until, reason };
  return Object.fromEntries(
    Object.entries(all).filter(([, field]) => field !== undefined),
  ) as unknown as ExceptionEntry;
}

/** Only one of each can hold: a new one takes the place of the one before. */
export function slotOf({ kind, key, prefix, network, policy }: ExceptionEntry): string {
  const about = kind === 'exempt' || kind === 'deny' ? 'list' : kind;
  return JSON.stringify([about, key ?? null, prefix ?? null, network ?? null, policy ?? null]);
}

/** In milliseconds. */
export function untilOf({ until }: ExceptionEntry): number {
  return until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
}

export function subjectOf(subject: unknown, path: string): Pick<ExceptionEntry, 'key' | 'prefix' | 'network'> {
  if (typeof subject === 'string') return { key: subject };
  if (isObject(subject)) {
    checkOptionNames(subject, ['prefix', 'network'], path);
    return subject;
  }
  throw invalidOption(path, "a key, { prefix: '...' } or { network: '10.0.0.0/8' }", subject);
}

function endOf({ for: length, until }: ExceptionOptions, path: string, now: number): string | undefined {
  if (length !== undefined && until !== undefined) throw invalidOption(path, 'for or until', new Kind('both'));
  if (length !== undefined) return isoOf(now + parseDuration(length, `${path}.for`));
  if (until === undefined) return undefined;
  const moment = until instanceof Date ? until.getTime() : typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (!Number.isFinite(moment)) throw noMoment(`${path}.until`, until);
  if (moment <= now) throw invalidOption(`${path}.until`, 'a moment that lies ahead', until);
  return isoOf(moment);
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function noMoment(path: string, got: unknown): SluiceError {
  return invalidOption(path, "a date, or text such as '2027-01-31T12:00:00Z'", got);
}

function checkText(value: unknown, path: string, most: number): void {
  if (typeof value === 'string' && value.length >= 1 && value.length <= most) return;
  throw invalidOption(
    path,
    `a text of 1 to ${most} characters`,
    typeof value === 'string' ? new Kind(`${value.length} characters`) : value,
  );
}

function checkNumbers(numbers: unknown, path: string): void {
  const all = isObject(numbers) ? Object.values(numbers) : [];
  // A word is a choice, and says what kind of state there is: that no override can change.
  const isPlain = all.every((number) => typeof number === 'number' || /^\d.{0,39}$/.test(String(number)));
  if (all.length >= 1 && all.length <= MAX_NUMBERS && isPlain) return;
  throw invalidOption(path, 'the numbers that hold instead, such as { capacity: 5000 }', numbers);
}
