/**
 * Bytes of a log in blocks of whole lines: from a file, from standard input, and from what is packed with gzip, which is known by its first
 * bytes and not by its name.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FormatError } from '../logs/line-format.ts';
import { packingOf, unreadable } from '../logs/packings.ts';
import { MOST_LINE_BYTES } from '../logs/request-reader.ts';

const BLOCK_BYTES = 1 << 20;
/** What a worker reads at a time. */
export const PART_BYTES = 1 << 21;
const NEWLINE = 10;

/** One log. */
export interface LogSource {
  readonly name: string;
  /** The file, when its bytes are the log as it stands: then others can read parts of it too. */
  readonly file: string | undefined;
  /** Bytes on the disk; undefined when nobody knows, as of standard input. */
  readonly size: number | undefined;
  /** Bytes read so far, of those. */
  readonly position: number;
  /** Why it ended before its end. */
  readonly problem: string | undefined;
  /** Whole lines; undefined at the end. They are good until the next call. */
  next(): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Bytes as they come. */
interface ByteSource {
  readonly position: number;
  /** Reads into a buffer from an offset on; 0 at the end. */
  read(buffer: Uint8Array, offset: number): Promise<number>;
  close(): Promise<void>;
}

/** A file of any size, packed or not. */
export async function openFile(name: string): Promise<LogSource> {
  const handle = await open(name);
  const stats = await handle.stat();
  // A pipe has a name too, and can be read only once.
  if (!stats.isFile()) return openStream(name, handle.createReadStream());
  const { size } = stats;
  const start = new Uint8Array(8);
  await handle.read(start, 0, start.length, 0);
  const packing = packingOf(start);
  if (packing !== undefined && packing !== 'gzip') {
    await handle.close();
    throw new FormatError(`${unreadable(packing, name)} | sluice backtest - ...`);
  }
  if (packing === 'gzip') return new LineBlocks(name, size, packedFile(handle));
  return new LineBlocks(name, size, plainFile(handle), name);
}

/** Standard input, or whatever else flows. */
export function openStream(name: string, stream: Readable): LogSource {
  return new LineBlocks(name, undefined, streamed(unpacked(stream)));
}

function plainFile(handle: FileHandle): ByteSource {
  let position = 0;
  return {
    get position() {
      return position;
    },
    async read(buffer, offset) {
      const { bytesRead } = await handle.read(buffer, offset, buffer.length - offset, position);
      position += bytesRead;
      return bytesRead;
    },
    close: () => handle.close(),
  };
}

function packedFile(handle: FileHandle): ByteSource {
  const packed = handle.createReadStream({ start: 0, highWaterMark: BLOCK_BYTES / 4 });
  const unpacking = packed.pipe(createGunzip({ chunkSize: BLOCK_BYTES / 4 }));
  packed.on('error', (error) => unpacking.destroy(error));
  const source = streamed(unpacking);
  return {
    get position() {
      return packed.bytesRead;
    },
    read: source.read,
    async close() {
      packed.destroy();
      await source.close();
    },
  };
}

/** Standard input may be packed too. */
function unpacked(stream: Readable): Readable {
  const out = new PassThrough();
  stream.once('readable', () => {
    const first = stream.read() as Buffer | null;
    if (first === null) return void stream.pipe(out);
    stream.unshift(first);
    const packing = packingOf(first);
    if (packing === undefined) return void stream.pipe(out);
    if (packing !== 'gzip')
      return void out.destroy(new FormatError(`${unreadable(packing, 'FILE')} | sluice backtest - ...`));
    const unpacking = stream.pipe(createGunzip());
    unpacking.on('error', (error) => out.destroy(error));
    return void unpacking.pipe(out);
  });
  stream.on('error', (error) => out.destroy(error));
  return out;
}

function streamed(stream: Readable): ByteSource {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let chunk: Uint8Array = new Uint8Array();
  let position = 0;
  return {
    get position() {
      return position;
    },
    async read(buffer, offset) {
      if (chunk.length === 0) {
        const next = await chunks.next();
        if (next.done === true) return 0;
        chunk = next.value;
        position += chunk.length;
      }
      const taken = chunk.subarray(0, buffer.length - offset);
      buffer.set(taken, offset);
      chunk = chunk.subarray(taken.length);
      return taken.length;
    },
    async close() {
      stream.destroy();
    },
  };
}

class LineBlocks implements LogSource {
  readonly name: string;
  readonly size: number | undefined;
  readonly file: string | undefined;
  problem: string | undefined;
  readonly #source: ByteSource;
  #buffer: Uint8Array = Buffer.allocUnsafeSlow(BLOCK_BYTES + MOST_LINE_BYTES + 1);
  /** What is there of a line whose end was not yet read. */
  #rest = 0;
  #length = 0;
  /** A line that is too long was handed on: what follows of it is dropped. */
  #isSkipping = false;
  #isOver = false;

  constructor(name: string, size: number | undefined, source: ByteSource, file?: string) {
    this.name = name;
    this.file = file;
    this.size = size;
    this.#source = source;
  }

  get position(): number {
    return this.#source.position;
  }

  async next(): Promise<Uint8Array | undefined> {
    const buffer = this.#buffer;
    buffer.copyWithin(0, this.#rest, this.#length);
    let length = this.#length - this.#rest;
    while (!this.#isOver) {
      const read = await this.#read(length);
      if (read === 0) {
        this.#isOver = true;
        break;
      }
      if (this.#isSkipping) {
        const end = buffer.subarray(length, length + read).indexOf(NEWLINE);
        if (end < 0) continue;
        buffer.copyWithin(length, length + end + 1, length + read);
        this.#isSkipping = false;
        length += read - end - 1;
      } else length += read;
      if (length >= BLOCK_BYTES) break;
    }
    return this.#block(length);
  }

  /** What is packed and cut off counts up to there. */
  async #read(offset: number): Promise<number> {
    try {
      return await this.#source.read(this.#buffer, offset);
    } catch (error) {
      if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
      this.problem = `it cannot be unpacked to its end (${(error as Error).message}). What was read until there counts.`;
      return 0;
    }
  }

  #block(length: number): Uint8Array | undefined {
    const end = this.#isOver ? length : this.#buffer.lastIndexOf(NEWLINE, length - 1) + 1;
    this.#length = length;
    if (end === 0 && !this.#isOver) {
      // No end within reach: as much of it as shows that it is too long.
      this.#isSkipping = true;
      this.#rest = length;
      return this.#buffer.subarray(0, length);
    }
    this.#rest = end;
    return end === 0 ? undefined : this.#buffer.subarray(0, end);
  }

  close(): Promise<void> {
    return this.#source.close();
  }
}
