/** What the states of a sliding window log say. The layout is that of sliding-window-log.lua. */
import { historyOf } from '../../model/history.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { unexpectedState, viewOf } from '../shared/layouts.ts';
import { entriesAfter } from './log.ts';

const HEADER_BYTES = 38;
/** Added to the byte that tells the width of times: there are marks behind the ring. */
const HAS_MARKS = 128;
const MARK_BYTES = 12;

export const states: readonly StateReader[] = [
  {
    code: 'l',
    kind: 'sliding-window-log',
    decode,
    describe: (state) => ({
      entries: historyOf(entriesAfter(state, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)),
    }),
    times: [],
    blockedUntil: (value) => viewOf(value).getFloat64(16, true),
  },
];

function decode(value: Uint8Array): number[] {
  if (value.length < HEADER_BYTES) throw unexpectedState(value);
  const view = viewOf(value);
  const [newest, total] = [view.getFloat64(0, true), view.getFloat64(8, true)];
  const [head, length, room] = [24, 28, 32].map((at) => view.getUint32(at, true)) as [number, number, number];
  const [timeBytes, unitBytes] = [value[36]! % HAS_MARKS, value[37]!];
  const entryBytes = timeBytes + unitBytes;
  const end = HEADER_BYTES + room * entryBytes;
  if (length > room || value.length < end) throw unexpectedState(value);
  const ring: number[] = [];
  for (let index = 0; index < length; index += 1) {
    const at = HEADER_BYTES + ((head + index) % room) * entryBytes;
    ring.push(
      newest - modulo(newest - littleEndian(value, at, timeBytes), 256 ** timeBytes),
      total - modulo(total - littleEndian(value, at + timeBytes, unitBytes), 256 ** unitBytes),
    );
  }
  const marks = value[36]! >= HAS_MARKS ? marksAt(value, end) : [];
  return [0, length, total, length, ...ring, ...marks];
}

function marksAt(value: Uint8Array, at: number): number[] {
  const view = viewOf(value);
  const count = value[at]!;
  if (value.length < at + 1 + count * MARK_BYTES) throw unexpectedState(value);
  const marks: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const start = at + 1 + index * MARK_BYTES;
    marks.push(view.getFloat64(start, true), view.getUint32(start + 8, true));
  }
  return marks;
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let number = 0;
  for (let index = count - 1; index >= 0; index -= 1) number = number * 256 + bytes[at + index]!;
  return number;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
