/** How numbers are written in Redis by more than one algorithm, read back for people and tools. Nothing that decides uses it. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import { type SluiceError, wrong } from '../../model/errors.ts';
import type { StateReader } from '../../model/state-reader.ts';

/** Digits, which Redis keeps as an integer; undefined for anything else. */
export function wholeNumber(value: Uint8Array): number | undefined {
  const text = textOf(value);
  return /^-?\d{1,17}$/.test(text) ? Number(text) : undefined;
}

/** Digits of two numbers, the second one of so many digits; undefined for anything else. */
export function wholeNumbers(value: Uint8Array, last: number): [number, number] | undefined {
  const text = textOf(value);
  return /^\d{4,19}$/.test(text) ? [Number(text.slice(0, -last)), Number(text.slice(-last))] : undefined;
}

/** `m1724400000250000:42:7`: a letter, and so many whole numbers. */
export function textNumbers(value: Uint8Array, count: number): number[] {
  const text = textOf(value);
  const numbers = /^m\d+(:\d+)+$/.test(text) ? text.slice(1).split(':').map(Number) : [];
  if (numbers.length !== count) throw unexpectedState(value);
  return numbers;
}

/** A letter and so many doubles; what follows only makes the value longer than any digits. */
export function doublesOf(value: Uint8Array, letter: string, count: number): number[] {
  if (value.length < 1 + 8 * count || value[0] !== letter.charCodeAt(0)) throw unexpectedState(value);
  const view = viewOf(value);
  return Array.from({ length: count }, (_, index) => view.getFloat64(1 + 8 * index, true));
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function textOf(value: Uint8Array): string {
  return String.fromCharCode(...value.subarray(0, 64));
}

export function unexpectedState(value: Uint8Array): SluiceError {
  return wrong('SLUICE_UNEXPECTED_REPLY', 'inspectState(kind, value)', "a state in Sluice's own layout", textOf(value));
}

/** States of shared/windows.lua: digits, start + count, or text, start and count. `startsAt` is what people call the start. */
export function windowStates(code: string, kind: string, startsAt: string): StateReader {
  return {
    code,
    kind,
    decode(value) {
      const packed = wholeNumber(value);
      return packed === undefined ? textNumbers(value, 2) : [packed - (packed % 1e6), packed % 1e6];
    },
    describe: (state) => ({ [startsAt]: state[0]! / MICROS_PER_SECOND, count: state[1] }),
    times: [startsAt],
  };
}
