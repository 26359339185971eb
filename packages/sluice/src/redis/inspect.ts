/**
 * What Redis holds, for people and tools: names and values back into words. Nothing that decides uses it. The layouts are those that
 * docs/decisions/0002, 0003 and 0005 describe, written by the Lua twins. Times are seconds.
 */
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { SluiceError } from '../model/errors.ts';
import type { AlgorithmCode, Policy } from '../model/policy.ts';
import { type KeyOptions, keyNamer } from './keys.ts';

const STATE_KINDS = {
  f: 'fixed-window',
  l: 'sliding-window-log',
  c: 'sliding-window-counter',
  t: 'token-bucket',
  p: 'leaky-bucket policing',
  s: 'leaky-bucket shaping',
  g: 'gcra',
} as const satisfies Readonly<Record<AlgorithmCode, string>>;

export type StateKind = (typeof STATE_KINDS)[AlgorithmCode];

/** Where the state of a key under a policy is. */
export function stateName(key: string, policy: Policy, options: KeyOptions = {}): string {
  return keyNamer(options)(key, policy);
}

/** For `SCAN ... MATCH`: all states of a key, under whatever policies. */
export function statePattern(key: string, options: KeyOptions = {}): string {
  const name = stateName(key, SOME_POLICY, options).slice(0, -1);
  return `${name.replace(/[\\*?[\]^-]/g, '\\$&')}*`;
}

/** Its name is its algorithm's, so its state's name ends with the letter alone. */
const SOME_POLICY = { algorithm: 'gcra', name: 'gcra', limit: 1, period: 1, capacity: 1 } as const satisfies Policy;

export interface StateName {
  /** The hash of it where keys are hashed. */
  readonly key: string;
  readonly kind: StateKind;
  /** The policy's name. */
  readonly policy: string;
}

/** Undefined for a name that is none of ours. */
export function parseStateName(name: string, { prefix = 'sluice' }: KeyOptions = {}): StateName | undefined {
  const start = prefix === '' ? '{' : `${prefix}:{`;
  const end = name.indexOf('}', start.length);
  if (!name.startsWith(start) || end < 0) return undefined;
  const kind = STATE_KINDS[name.charAt(end + 1) as AlgorithmCode];
  const rest = name.slice(end + 2);
  if (kind === undefined || (rest !== '' && !/^:./.test(rest))) return undefined;
  const policy = rest === '' ? kind.split(' ')[0]! : rest.slice(1);
  return { key: unescaped(name.slice(start.length, end)), kind, policy };
}

function unescaped(written: string): string {
  if (written === '%') return '';
  return written.replace(/%([\da-f]+);/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** A state as it was written. It may be old: whether any of it still counts, the policy and the time decide. */
export type State =
  | { readonly windowStart: number; readonly count: number }
  | { readonly windowStart: number; readonly current: number; readonly previous: number }
  /** Of a token bucket: tokens spent and not refilled at that time. */
  | { readonly spent: number; readonly at: number }
  | { readonly level: number; readonly at: number }
  /** Shaping: when the next slot is free. */
  | { readonly nextFree: number }
  | { readonly theoreticalArrival: number }
  | { readonly entries: readonly HistoryEntry[]; readonly room: number };

export interface InspectedState {
  readonly kind: StateKind;
  /** Unix time; null when the key is not blocked. It may be over. */
  readonly blockedUntil: number | null;
  /** Null when there is nothing but the block. */
  readonly state: State | null;
}

/** What a value says. Throws SLUICE_UNEXPECTED_REPLY for one that is none of ours. */
export function inspectState(kind: StateKind, value: Uint8Array): InspectedState {
  if (kind === 'sliding-window-log') return inspectLog(value);
  const blocked = value.length >= BLOCK_BYTES;
  const inner = blocked ? value.subarray(BLOCK_BYTES) : value;
  return {
    kind,
    blockedUntil: blocked ? seconds(viewOf(value).getFloat64(1, true)) : null,
    state: blocked && inner.length === 0 ? null : READERS[kind](inner),
  };
}

/** A blocked state stands behind so many bytes; no other is that long, but for a log. */
const BLOCK_BYTES = 64;

const READERS: Readonly<Record<Exclude<StateKind, 'sliding-window-log'>, (value: Uint8Array) => State>> = {
  'fixed-window'(value) {
    const packed = wholeNumber(value);
    if (packed === undefined) {
      const [windowStart, count] = textNumbers(value, 2);
      return { windowStart: seconds(windowStart!), count: count! };
    }
    const count = packed % 1e6;
    return { windowStart: seconds(packed - count), count };
  },
  'sliding-window-counter'(value) {
    const packed = wholeNumber(value);
    if (packed === undefined) {
      const [windowStart, current, previous] = textNumbers(value, 3);
      return { windowStart: seconds(windowStart!), current: current!, previous: previous! };
    }
    const counts = packed % 1e6;
    return { windowStart: seconds(packed - counts), current: counts % 1e3, previous: Math.floor(counts / 1e3) };
  },
  'token-bucket'(value) {
    const [spent, at] = levelOf(value);
    return { spent, at };
  },
  'leaky-bucket policing'(value) {
    const [level, at] = levelOf(value);
    return { level, at };
  },
  'leaky-bucket shaping': (value) => ({ nextFree: horizonOf(value) }),
  gcra: (value) => ({ theoreticalArrival: horizonOf(value) }),
};

function levelOf(value: Uint8Array): [level: number, at: number] {
  const [level, at] = doublesOf(value, 'l');
  return [level, seconds(at)];
}

function horizonOf(value: Uint8Array): number {
  const whole = wholeNumber(value);
  if (whole !== undefined) return seconds(whole);
  const [micros, fraction] = doublesOf(value, 'f');
  return seconds(micros + fraction);
}

/** A letter and two doubles; what follows only makes the value longer than any digits. */
function doublesOf(value: Uint8Array, letter: string): [first: number, second: number] {
  if (value.length < 17 || value[0] !== letter.charCodeAt(0)) throw unexpected(value);
  return [viewOf(value).getFloat64(1, true), viewOf(value).getFloat64(9, true)];
}

const LOG_HEADER_BYTES = 38;

function inspectLog(value: Uint8Array): InspectedState {
  if (value.length < LOG_HEADER_BYTES) throw unexpected(value);
  const view = viewOf(value);
  const [newest, total, blockedUntil] = [0, 8, 16].map((at) => view.getFloat64(at, true)) as [number, number, number];
  const [head, length, room] = [24, 28, 32].map((at) => view.getUint32(at, true)) as [number, number, number];
  const [timeBytes, unitBytes] = [value[36]!, value[37]!];
  const entryBytes = timeBytes + unitBytes;
  if (length > room || value.length < LOG_HEADER_BYTES + room * entryBytes) throw unexpected(value);
  const moments: number[] = [];
  const unitsFrom: number[] = [];
  for (let index = 0; index < length; index += 1) {
    const at = LOG_HEADER_BYTES + ((head + index) % room) * entryBytes;
    moments.push(newest - modulo(newest - littleEndian(value, at, timeBytes), 256 ** timeBytes));
    unitsFrom.push(modulo(total - littleEndian(value, at + timeBytes, unitBytes), 256 ** unitBytes));
  }
  const entries = moments.map((moment, index) => ({
    at: seconds(moment),
    cost: unitsFrom[index]! - (unitsFrom[index + 1] ?? 0),
  }));
  return {
    kind: 'sliding-window-log',
    blockedUntil: blockedUntil > 0 ? seconds(blockedUntil) : null,
    state: length === 0 ? null : { entries, room },
  };
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let number = 0;
  for (let index = count - 1; index >= 0; index -= 1) number = number * 256 + bytes[at + index]!;
  return number;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function wholeNumber(value: Uint8Array): number | undefined {
  const text = textOf(value);
  return /^-?\d{1,17}$/.test(text) ? Number(text) : undefined;
}

/** `m1724400000250000:42:7`. */
function textNumbers(value: Uint8Array, count: number): number[] {
  const text = textOf(value);
  const numbers = /^m\d+(:\d+)+$/.test(text) ? text.slice(1).split(':').map(Number) : [];
  if (numbers.length !== count) throw unexpected(value);
  return numbers;
}

function textOf(value: Uint8Array): string {
  return String.fromCharCode(...value.subarray(0, 64));
}

function seconds(micros: number): number {
  return micros / MICROS_PER_SECOND;
}

function unexpected(value: Uint8Array): SluiceError {
  return new SluiceError({
    code: 'SLUICE_UNEXPECTED_REPLY',
    path: 'inspectState(kind, value)',
    expected: "a state in Sluice's own layout",
    got: textOf(value),
  });
}
