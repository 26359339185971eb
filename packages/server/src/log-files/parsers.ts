/** Who reads blocks: this thread, or several workers whose rows come back in order. */
import { Worker } from 'node:worker_threads';
import { type KeyTable, PACKED, wider } from '../logs/key-table.ts';
import type { FirstLines } from '../logs/known-formats.ts';
import type { LineFormat } from '../logs/line-format.ts';
import { planFor } from '../logs/log-keys.ts';
import { BlockReader, type ParsedBlock } from '../logs/parse-block.ts';
import { type FormatOptions, formatOf } from '../logs/recognize.ts';
import { newTables, OTHER_ROUTES, type SpendReader, type Tables } from '../logs/request-reader.ts';
import { PARSE_WORKER_FILE } from './worker-file.ts';

/** How lines are read. Plain data, so that it can go to workers. */
export interface ParseOptions extends FormatOptions {
  /** Who is a client: `ip`, `user | ip`, `field:NAME + route`. */
  readonly key: string;
  readonly cost?: readonly string[] | undefined;
  readonly routes: boolean;
  readonly lines: boolean;
  /** Only lines whose fields are these. */
  readonly where?: Readonly<Record<string, string>> | undefined;
}

/** Reads blocks of several logs. */
export interface Parser {
  readonly tables: Tables;
  /** How many blocks may be on their way. */
  readonly depth: number;
  /** A further log, by its number and its first lines; `file` is where others can read it too. Throws a `FormatError`. */
  open(log: number, lines: FirstLines, file: string | undefined): LineFormat;
  /** With a depth of 1 the answer is good until the next call. */
  parse(log: number, bytes: Uint8Array): Promise<ParsedBlock>;
  /** The lines of a file that begin in a part of it; undefined when this one reads no files. */
  readonly parsePart?: ((log: number, start: number, end: number) => Promise<ParsedBlock>) | undefined;
  close(): Promise<void>;
}

/** In this thread. */
export function parserHere(options: ParseOptions, seed: number, spends?: SpendReader): Parser {
  const tables = newTables(seed);
  const readers: BlockReader[] = [];
  return {
    tables,
    depth: 1,
    open(log, lines) {
      const format = formatOf(lines, options);
      readers[log] = new BlockReader({ ...options, format, key: planFor(options.key, format.name), tables, spends });
      return format;
    },
    parse: async (log, bytes) => readers[log]!.read(bytes),
    close: async () => {},
  };
}

/** What a worker is sent, and what it answers. */
export type ToWorker =
  | {
      readonly kind: 'open';
      readonly log: number;
      readonly lines: FirstLines;
      readonly options: ParseOptions;
      readonly file: string | undefined;
    }
  | { readonly kind: 'part'; readonly log: number; readonly start: number; readonly end: number }
  | { readonly kind: 'block'; readonly log: number; readonly bytes: Uint8Array };

export interface FromWorker extends ParsedBlock {
  /** Texts that are new since the last block. */
  readonly clients: NewTexts;
  readonly routes: NewTexts;
}

export interface NewTexts {
  /** The number of the first of them. */
  readonly from: number;
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

/** In workers, each with tables of its own. */
export function parserPool(size: number, options: ParseOptions, seed: number): Parser {
  const tables = newTables(seed);
  const workers = Array.from({ length: size }, () => new ParseWorker(tables));
  let turn = 0;
  const next = (): ParseWorker => workers[turn++ % size]!;
  return {
    tables,
    depth: size * 2,
    open(log, lines, file) {
      const format = formatOf(lines, options);
      for (const worker of workers) worker.post({ kind: 'open', log, lines, options, file });
      return format;
    },
    parse: (log, bytes) => next().parse(log, bytes),
    parsePart: (log, start, end) => next().parsePart(log, start, end),
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

/** Numbers of a worker, as they are called here. */
class NumberMap {
  #ids = new Int32Array(1024);
  readonly #table: KeyTable;
  readonly #most: number;

  constructor(table: KeyTable, most = Number.POSITIVE_INFINITY) {
    this.#table = table;
    this.#most = most;
  }

  add({ from, bytes, ends }: NewTexts): void {
    const table = this.#table;
    const needed = from + ends.length;
    if (needed > this.#ids.length) this.#ids = wider(this.#ids, Math.max(needed, this.#ids.length * 2));
    let start = 0;
    for (const [index, end] of ends.entries()) {
      const id = table.size < this.#most ? table.idOf(bytes, start, end) : table.find(bytes, start, end);
      this.#ids[from + index] = id < 0 ? OTHER_ROUTES : id;
      start = end;
    }
  }

  /** Numbers in place; addresses get theirs here. */
  translate(column: Int32Array, addresses?: Int32Array): void {
    const ids = this.#ids;
    const table = this.#table;
    for (let row = 0; row < column.length; row += 1) {
      const id = column[row]!;
      if (id >= 0) column[row] = ids[id]!;
      else if (id === PACKED) column[row] = table.idOfAddress(addresses![row]!);
    }
  }
}

class ParseWorker {
  // What a worker makes lives for a block, or for good: it needs no large nursery.
  readonly #worker = new Worker(PARSE_WORKER_FILE, { resourceLimits: { maxYoungGenerationSizeMb: 4 } });
  readonly #clients: NumberMap;
  readonly #routes: NumberMap;
  readonly #waiting: { resolve(block: ParsedBlock): void; reject(error: Error): void }[] = [];

  constructor(tables: Tables) {
    this.#clients = new NumberMap(tables.clients);
    this.#routes = new NumberMap(tables.routes, OTHER_ROUTES);
    this.#worker.on('message', (answer: FromWorker) => this.#waiting.shift()!.resolve(this.#translated(answer)));
    this.#worker.on('error', (error) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  #translated(answer: FromWorker): ParsedBlock {
    const { rows } = answer;
    this.#clients.add(answer.clients);
    this.#routes.add(answer.routes);
    this.#clients.translate(rows.clients, rows.addresses);
    if (rows.routes !== undefined) this.#routes.translate(rows.routes);
    return answer;
  }

  post(message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer as ArrayBuffer[]);
  }

  parse(log: number, bytes: Uint8Array): Promise<ParsedBlock> {
    const copy = new Uint8Array(bytes);
    return this.#ask({ kind: 'block', log, bytes: copy }, [copy.buffer]);
  }

  parsePart(log: number, start: number, end: number): Promise<ParsedBlock> {
    return this.#ask({ kind: 'part', log, start, end });
  }

  #ask(message: ToWorker, transfer: readonly ArrayBuffer[] = []): Promise<ParsedBlock> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.post(message, transfer);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
