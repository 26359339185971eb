/** Parts of a file, so that several threads can read it: each gets the lines that begin in its part. */
import { openSync, readSync } from 'node:fs';
import { MOST_LINE_BYTES } from '../logs/request-reader.ts';

const NEWLINE = 10;
const TAIL_BYTES = 1 << 16;

/** Reads parts of one file, one after the other. */
export class FileRanges {
  readonly #file: number;
  #buffer = new Uint8Array(TAIL_BYTES);

  /** The file stays open as long as the thread lives. */
  constructor(name: string) {
    this.#file = openSync(name, 'r');
  }

  /** Whole lines: those that begin from `start` on and before `end`. They are good until the next call. */
  read(start: number, end: number): Uint8Array {
    // With the byte before it, which tells whether a line begins at `start`.
    const from = Math.max(0, start - 1);
    let length = this.#fill(from, 0, end - from);
    const first = start === 0 ? 0 : this.#buffer.subarray(0, length).indexOf(NEWLINE) + 1;
    if ((start > 0 && first === 0) || from + first >= end) return this.#buffer.subarray(0, 0);
    if (this.#buffer[length - 1] !== NEWLINE) length = this.#toEndOfLine(from, first, length);
    return this.#buffer.subarray(first, length);
  }

  /** The rest of the last line, or as much of it as shows that it is too long. */
  #toEndOfLine(from: number, first: number, length: number): number {
    const begin = Math.max(first, this.#buffer.lastIndexOf(NEWLINE, length - 1) + 1);
    for (let at = length; at - begin <= MOST_LINE_BYTES; ) {
      const after = this.#fill(from, at, TAIL_BYTES);
      const found = this.#buffer.subarray(at, after).indexOf(NEWLINE);
      if (found >= 0) return at + found + 1;
      if (after === at) return at;
      at = after;
      length = after;
    }
    return length;
  }

  /** Reads so many bytes to an offset, or as many as there are; answers where they end. */
  #fill(from: number, offset: number, bytes: number): number {
    if (offset + bytes > this.#buffer.length) {
      const wide = new Uint8Array((offset + bytes) * 1.25);
      wide.set(this.#buffer.subarray(0, offset));
      this.#buffer = wide;
    }
    let at = offset;
    while (at < offset + bytes) {
      const read = readSync(this.#file, this.#buffer, at, offset + bytes - at, from + at);
      if (read === 0) break;
      at += read;
    }
    return at;
  }
}
