/**
 * What a row's state is at a moment, for one client, told by the limiter's own answers: denied attempts change nothing, and between two admissions a
 * state only drains, so the last admission and the time say it all. Whatever moment is looked at, past ones included, and wherever the answers came from,
 * browser or server, the picture is made of the same numbers. A test compares them with looks of the library itself.
 */
import { windowNumber } from '../trace/clock-windows.ts';
import { type Trace, windowCounts } from '../trace/trace.ts';
import { type Numbers, numberIn } from './kind.ts';
import type { Row } from './row.ts';

/** One level of several, where a row asks several policies. */
export interface PartState {
  readonly title: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfter: number;
}

export interface WindowState {
  readonly start: number;
  readonly size: number;
  readonly current: number;
  readonly previous: number;
  /** What of the previous window still counts. */
  readonly carried: number;
}

export interface RowState {
  readonly row: Row;
  readonly numbers: Numbers;
  readonly now: number;
  readonly limit: number;
  /** Units in use: counted, carried over, missing from the bucket, queued. With a fraction where there is one. */
  readonly used: number;
  /** Whole units that would be allowed now. */
  readonly remaining: number;
  /** Until the client has everything back. */
  readonly resetAfter: number;
  /** Of the last attempt, if that was denied: until it would be allowed. Undefined when it was not. */
  readonly retryAfter: number | undefined;
  /** Requests that were allowed and whose slot has not come yet. */
  readonly waiting: number;
  /** Only where the policy counts in windows. */
  readonly window: WindowState | undefined;
  readonly parts: readonly PartState[];
}

/** What a state is read from. */
export interface Reading {
  readonly trace: Trace;
  readonly row: Row;
  readonly numbers: Numbers;
  readonly client: number;
  readonly now: number;
  /** The last arrival that was allowed, or -1. */
  readonly granted: number;
  readonly resetAfter: number;
  readonly window: WindowState | undefined;
}

const TOLERANCE = 1e-9;
/** Times are whole microseconds; sums of them in milliseconds are off by less than this. */
const HALF_MICROSECOND = 0.0005;

export function stateAt(trace: Trace, row: Row, client: number, now: number, origin: number): RowState {
  const last = trace.lastAt(now);
  const granted = trace.lastWhere('allowed', row.id, client, last);
  const answers = trace.rows[row.id]!;
  const { numbers, capacity: limit } = row;
  const resetAfter = granted < 0 ? 0 : Math.max(0, answers.resetAt[trace.slot(granted)]! - now);
  const window = windowAt(trace, row, granted, now, origin);
  const reading: Reading = { trace, row, numbers, client, now, granted, resetAfter, window };
  const parts = partsAt(reading);
  // Of several policies the last one is in the units that the row is measured by.
  const used = parts.length > 0 ? limit - parts.at(-1)!.remaining : row.kind.used(reading);
  return {
    ...{ row, numbers, now, limit, used, resetAfter, window, parts },
    remaining: Math.max(0, Math.floor(limit - used + TOLERANCE)),
    retryAfter: retryAt(trace, row, trace.lastWhere('asked', row.id, client, last), now),
    waiting: answers.hasDelays ? waitingAt(reading) : 0,
  };
}

function waitingAt({ trace, row, client, granted, now }: Reading): number {
  let waiting = 0;
  eachGranted(trace, row.id, client, granted, now, () => {
    waiting += 1;
  });
  return waiting;
}

/** Told as a level that goes back evenly until it is reset: exact at each answer, and for whatever drains evenly. */
export function levelAt({ trace, row, granted, now, resetAfter }: Reading): number {
  if (resetAfter === 0) return 0;
  const answers = trace.rows[row.id]!;
  const slot = trace.slot(granted);
  const whole = answers.resetAt[slot]! - trace.at[slot]!;
  const spent = answers.limit[slot]! - answers.remaining[slot]!;
  return whole === 0 ? spent : (spent * (answers.resetAt[slot]! - now)) / whole;
}

function partsAt({ trace, row, granted, now }: Reading): readonly PartState[] {
  return trace.rows[row.id]!.parts.map(({ remaining, resetAt }, index) => {
    const { title, limit } = row.parts[index]!;
    if (granted < 0) return { title, limit, remaining: limit, resetAfter: 0 };
    const slot = trace.slot(granted);
    const [at, end] = [trace.at[slot]!, resetAt[slot]!];
    const left = Math.max(0, end - now);
    const spent = end > at ? ((limit - remaining[slot]!) * left) / (end - at) : 0;
    return { title, limit, remaining: Math.floor(limit - spent + TOLERANCE), resetAfter: left };
  });
}

function windowAt(trace: Trace, row: Row, granted: number, now: number, origin: number): WindowState | undefined {
  const size = row.clockWindow;
  if (!Number.isFinite(size)) return undefined;
  const answers = trace.rows[row.id]!;
  const [current, previous] = granted < 0 ? [0, 0] : windowCounts(trace, answers, granted, now, size, origin);
  const start = startOfWindow(trace, row, granted, now, origin);
  const fading = Math.floor(previous * (1 - (now - start) / size) + TOLERANCE);
  return { start, size, current, previous, carried: Math.max(0, fading) };
}

/** On the clock, unless windows begin with the first request. */
function startOfWindow(trace: Trace, row: Row, granted: number, now: number, origin: number): number {
  const size = row.clockWindow;
  if (row.numbers.align !== 'first') return windowNumber(now + origin, size) * size - origin;
  const end = granted < 0 ? now : trace.rows[row.id]!.resetAt[trace.slot(granted)]!;
  return end > now ? end - size : now;
}

function retryAt(trace: Trace, row: Row, last: number, now: number): number | undefined {
  if (last < 0) return undefined;
  const slot = trace.slot(last);
  const answers = trace.rows[row.id]!;
  return answers.allowed[slot] === 1 ? undefined : Math.max(0, trace.at[slot]! + answers.retryAfter[slot]! - now);
}

/** The admissions of a client that act after a time, newest first. In a queue that is when their slot comes. */
export function eachGranted(
  trace: Trace,
  id: string,
  client: number,
  from: number,
  after: number,
  visit: (at: number, cost: number, delay: number) => void,
): void {
  const answers = trace.rows[id]!;
  for (let index = from; index >= trace.first; index -= 1) {
    const slot = trace.slot(index);
    if (answers.allowed[slot] === 0 || trace.client[slot] !== client) continue;
    if (trace.at[slot]! + answers.delay[slot]! <= after + HALF_MICROSECOND) return;
    visit(trace.at[slot]!, trace.cost[slot]!, answers.delay[slot]!);
  }
}

/** Units that were granted and have not come back at a rate of so many a second. */
export function drainedEvenly({ resetAfter }: Reading, perSecond: number): number {
  return (resetAfter * perSecond) / 1000;
}

/** The units of a sliding window that are still in it. */
export function grantedWithin({ trace, row, client, granted, now, numbers }: Reading): number {
  let units = 0;
  eachGranted(trace, row.id, client, granted, now - numberIn(numbers, 'window'), (_, cost) => {
    units += cost;
  });
  return units;
}
