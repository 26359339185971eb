/**
 * The state of a sliding window log: one entry for each admission, whatever its cost, in a ring ordered by time. Each entry carries how many
 * units were admitted before it, so that "how many since?" is a subtraction and both questions (which have left? which must leave?) are a
 * galloping search: no check walks the log, and nothing is pruned one by one.
 *
 * Units that were given back to an entry in the middle are noted beside the ring as a mark, because taking them out would change every entry
 * behind it. There are at most MOST_MARKS; then the two that stand closest become one, which changes the entries between them only.
 *
 * As numbers: [head, length, total, capacity, ring of (time, units before), marks of (time, units)]. Twin: sliding-window-log.lua.
 */
import type { Numbers } from '../../model/step.ts';

/** Slot of the oldest entry; entries; units admitted ever, those that have left included; entries there is room for. */
const HEAD = 0;
const LENGTH = 1;
const TOTAL = 2;
const CAPACITY = 3;
const RING = 4;

/** The two numbers of an entry. Both grow from entry to entry. */
const TIME = 0;
const BEFORE = 1;

export const MOST_MARKS = 64;
/** Entries that are changed at most to make two marks one. */
export const MOST_REWRITTEN = 1024;

export function lengthOf(log: Numbers): number {
  return log[LENGTH]!;
}

export function timeAt(log: Numbers, index: number): number {
  return numberAt(log, index, TIME);
}

export function newest(log: Numbers): number {
  return timeAt(log, log[LENGTH]! - 1);
}

function numberAt(log: Numbers, index: number, which: number): number {
  return log[RING + slotOf(log, index) * 2 + which]!;
}

function slotOf(log: Numbers, index: number): number {
  const slot = log[HEAD]! + index;
  return slot < log[CAPACITY]! ? slot : slot - log[CAPACITY]!;
}

function marksAt(log: Numbers): number {
  return RING + log[CAPACITY]! * 2;
}

/** Units from an entry on that still count as spent. */
export function unitsFrom(log: Numbers, index: number): number {
  if (index >= log[LENGTH]!) return 0;
  const units = log[TOTAL]! - numberAt(log, index, BEFORE);
  const first = marksAt(log);
  return first === log.length ? units : units - markedFrom(log, timeAt(log, index), first);
}

function markedFrom(log: Numbers, time: number, first: number): number {
  let units = 0;
  for (let at = first; at < log.length; at += 2) if (log[at]! >= time) units += log[at + 1]!;
  return units;
}

/** Index of the oldest entry later than `moment`; a unit admitted at t is outside the window from t + window on. */
export function firstLive(log: Numbers, moment: number): number {
  // Most often nothing has left since the last time.
  if (log[LENGTH] === 0 || timeAt(log, 0) > moment) return 0;
  return firstWhere(log, 1, (index) => timeAt(log, index) > moment);
}

/** The first index from `from` on for which it holds, or the length. Galloping: near answers are cheap. */
function firstWhere(log: Numbers, from: number, holds: (index: number) => boolean): number {
  const length = log[LENGTH]!;
  let low = from;
  let step = 1;
  while (low + step - 1 < length && !holds(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(length, low + step - 1);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** When the entry was admitted that must leave, with all before it, so that at most `room` units are left. */
export function leaves(log: Numbers, first: number, room: number): number {
  return timeAt(log, firstWhere(log, first + 1, (index) => unitsFrom(log, index) <= room) - 1);
}

/** The first entry from which on no more than so many units count. */
export function firstWithin(log: Numbers, first: number, units: number): number {
  return firstWhere(log, first, (index) => unitsFrom(log, index) <= units);
}

/** The entry of this very time, or -1. */
export function indexAt(log: Numbers, time: number, first: number): number {
  const index = firstWhere(log, first, (at) => timeAt(log, at) >= time);
  return index < log[LENGTH]! && timeAt(log, index) === time ? index : -1;
}

/** The oldest `drop` entries have left, and `cost` units were admitted at `at`. In place where there is room. */
export function append(log: number[] | undefined, drop: number, at: number, cost: number, limit: number): number[] {
  // Room for one entry: most keys have no more. The time makes it a list of doubles from the start.
  if (log === undefined) return [0, 1, cost, 1, at, 0];
  let kept = log;
  if (drop > 0) {
    kept[HEAD] = slotOf(kept, drop);
    kept[LENGTH]! -= drop;
    dropMarks(kept, kept[LENGTH] === 0 ? Number.POSITIVE_INFINITY : timeAt(kept, 0));
  }
  if (kept[LENGTH] === 0 || newest(kept) !== at) {
    if (kept[LENGTH] === kept[CAPACITY]) kept = grown(kept, limit);
    const slot = RING + slotOf(kept, kept[LENGTH]!) * 2;
    kept[slot + TIME] = at;
    kept[slot + BEFORE] = kept[TOTAL]!;
    kept[LENGTH]! += 1;
  }
  kept[TOTAL]! += cost;
  return kept;
}

/** A window never holds more admissions than the limit, so the ring never needs to be larger. It is unrolled into the new one. */
function grown(log: number[], limit: number): number[] {
  const length = log[LENGTH]!;
  const capacity = Math.max(length + 1, Math.min(limit, length * 2));
  const [oldest, end] = [RING + log[HEAD]! * 2, marksAt(log)];
  // All of them lists of doubles, which V8 joins at once; the room is at most as large as the ring was.
  const room = log.slice(RING, RING + (capacity - length) * 2).fill(0);
  const next = log.slice(0, RING).concat(log.slice(oldest, end), log.slice(RING, oldest), room, log.slice(end));
  next[HEAD] = 0;
  next[CAPACITY] = capacity;
  return next;
}

/** Forgets the marks of entries before this time. */
function dropMarks(log: number[], before: number): void {
  const first = marksAt(log);
  let kept = first;
  while (kept < log.length && log[kept]! < before) kept += 2;
  if (kept > first) log.splice(first, kept - first);
}

/** Keeps the first `length` entries, and takes so many units out of the last of them. */
export function truncate(log: number[], length: number, units: number): number[] {
  if (length < log[LENGTH]!) shorten(log, length);
  log[TOTAL]! -= units;
  // What is last now may have been given back before.
  while (log[LENGTH]! > 0 && unitsFrom(log, log[LENGTH]! - 1) === 0) shorten(log, log[LENGTH]! - 1);
  return log;
}

function shorten(log: number[], length: number): void {
  const time = timeAt(log, length);
  log[TOTAL] = numberAt(log, length, BEFORE);
  log[LENGTH] = length;
  while (log.length > marksAt(log) && log[log.length - 2]! >= time) log.length -= 2;
}

/** Whether units can be given back to an entry in the middle. */
export function canMark(log: Numbers, time: number, moment: number): boolean {
  let marks = 0;
  for (let at = marksAt(log); at < log.length; at += 2) {
    if (log[at] === time) return true;
    if (log[at]! > moment) marks += 1;
  }
  return marks < MOST_MARKS || closest(log, moment).gap <= MOST_REWRITTEN;
}

/** The mark with the fewest entries to the next one, or to the end. Marks are in the order of time. */
function closest(log: Numbers, moment: number): { at: number; from: number; gap: number } {
  let best = { at: -1, from: 0, gap: Number.POSITIVE_INFINITY };
  for (let at = marksAt(log); at < log.length; at += 2) {
    if (log[at]! <= moment) continue;
    const from = indexAt(log, log[at]!, 0);
    const to = at + 2 < log.length ? indexAt(log, log[at + 2]!, from) : log[LENGTH]! - 1;
    if (to - from < best.gap) best = { at, from, gap: to - from };
  }
  return best;
}

/** Notes that units of the entry of this time were given back. Marks of entries that have left by `moment` are forgotten. */
export function mark(log: number[], time: number, units: number, moment: number): number[] {
  let at = marksAt(log);
  while (at < log.length && log[at] !== time) at += 2;
  if (at < log.length) {
    log[at + 1]! += units;
    return log;
  }
  let expired = marksAt(log);
  while (expired < log.length && log[expired]! <= moment) expired += 2;
  log.splice(marksAt(log), expired - marksAt(log));
  if ((log.length - marksAt(log)) / 2 >= MOST_MARKS) fold(log, moment);
  at = marksAt(log);
  while (at < log.length && log[at]! < time) at += 2;
  log.splice(at, 0, time, units);
  return log;
}

/** Makes a mark part of the next one, or of the total: the entries between them are written as if the units had never been. */
function fold(log: number[], moment: number): void {
  const { at, from, gap } = closest(log, moment);
  const units = log[at + 1]!;
  for (let index = from + 1; index <= from + gap; index += 1) log[RING + slotOf(log, index) * 2 + BEFORE]! -= units;
  if (at + 2 < log.length) log[at + 3]! += units;
  else log[TOTAL]! -= units;
  log.splice(at, 2);
}

/** Time, units, time, units, ... of what was admitted after a moment and not given back. */
export function entriesAfter(log: Numbers, moment: number, most: number): number[] {
  const listed: number[] = [];
  for (let index = firstLive(log, moment); index < lengthOf(log) && listed.length < most * 2; index += 1) {
    const units = unitsFrom(log, index) - unitsFrom(log, index + 1);
    if (units > 0) listed.push(timeAt(log, index), units);
  }
  return listed;
}
