/**
 * From the bytes of a log to rows of numbers: the loop that every line goes through. A line that cannot be read is counted, the first ones are
 * kept with the reason, and the reading goes on.
 */

import { KeyTable } from './key-table.ts';
import { fieldText, LINE, type LineFormat, type LineReader, Spans, textOf } from './line-format.ts';
import { fieldsOfPlan, type KeyPlan, LogKeys, pathEnd, pathStart } from './log-keys.ts';
import { RowBuffer } from './rows.ts';
import { TimeReader } from './times.ts';

/** What is wanted of each line. Plain data but for the format. */
export interface ReaderOptions {
  readonly format: LineFormat;
  readonly key: KeyPlan;
  /** Fields whose sum is the cost. Default: every request costs 1. */
  readonly cost?: readonly string[] | undefined;
  /** Only lines whose fields are these; all others are skipped. */
  readonly where?: Readonly<Record<string, string>> | undefined;
  /** Whether paths are counted too. */
  readonly routes: boolean;
  /** Whether the lines are kept with the rows. */
  readonly lines: boolean;
  /** Where clients and routes are numbered, when several readers share the numbers. */
  readonly tables?: Tables | undefined;
  /** Whether IPv4 addresses get no number, because those who take the rows will number them. */
  readonly packs?: boolean | undefined;
  /** What a config makes of a line: fields it reads, and the number of what is spent. */
  readonly spends?: SpendReader | undefined;
}

/** Numbers for clients and routes. */
export interface Tables {
  readonly clients: KeyTable;
  readonly routes: KeyTable;
}

/** Numbers for what the rules of a config spend. */
export interface SpendReader {
  readonly fields: (format: LineFormat) => readonly string[];
  /** `textOf` is the text of a field of the line; `time` is in microseconds. */
  numberOf(textOf: (field: string) => string | undefined, time: number): number;
}

/** Tables whose hashes nobody can foresee, given a seed that nobody knows. */
export function newTables(seed = 0, packs = false): Tables {
  return { clients: new KeyTable(seed, packs), routes: new KeyTable(seed) };
}

/** A line that could not be read. */
export interface BadLine {
  /** From 1, in its file. */
  readonly line: number;
  readonly reason: string;
  /** Its beginning. */
  readonly text: string;
}

/** What was met on the way. */
export interface LineCounts {
  /** All lines. */
  lines: number;
  /** Empty lines, comments, and lines that are not meant. */
  skipped: number;
  bad: number;
}

/** Bad lines that are kept. */
const MOST_SHOWN = 5;
const SHOWN_CHARACTERS = 160;
/** Paths that are told apart; all further ones are counted together. */
export const MOST_ROUTES = 10_000;
/** The number of all paths beyond those. */
export const OTHER_ROUTES = MOST_ROUTES;
/** The line does not say who the client is. */
const NOBODY = -1;
const NEWLINE = 10;
const RETURN = 13;
/** A line longer than this is not looked at. */
export const MOST_LINE_BYTES = 1 << 20;

/** Reads lines into rows, and keeps the numbers of clients and routes. One for each log. */
export class RequestReader {
  readonly rows: RowBuffer;
  readonly keys: LogKeys;
  readonly tables: Tables;
  readonly counts: LineCounts = { lines: 0, skipped: 0, bad: 0 };
  readonly badLines: BadLine[] = [];
  readonly times = new TimeReader();
  readonly #reader: LineReader;
  readonly #spans: Spans;
  readonly #pathField: number;
  readonly #costFields: readonly number[];
  readonly #fields: readonly string[];
  readonly #spends: SpendReader | undefined;
  readonly #packs: boolean;
  readonly #where: readonly (readonly [field: string, value: string])[];

  constructor(options: ReaderOptions) {
    const { format, key, cost = [], where = {}, routes, lines, packs, tables = newTables(0, packs), spends } = options;
    const wanted = ['time', ...fieldsOfPlan(key), ...cost, ...Object.keys(where), ...(spends?.fields(format) ?? [])];
    if (routes && hasField(format, 'path')) wanted.push('path');
    this.#fields = [...new Set(wanted)];
    this.#reader = format.reader(this.#fields);
    this.#spans = new Spans(this.#fields.length + 1);
    this.#pathField = routes ? this.#fields.indexOf('path') : -1;
    this.#where = Object.entries(where);
    this.#costFields = cost.map((name) => this.#fields.indexOf(name));
    this.tables = tables;
    this.#packs = packs === true;
    this.#spends = spends;
    this.keys = new LogKeys(key, this.#fields, format.hasLooseAddresses, tables.clients);
    const has = {
      routes: this.#pathField >= 0,
      costs: cost.length > 0,
      spends: spends !== undefined,
      lines,
      addresses: packs,
    };
    this.rows = new RowBuffer(has);
  }

  /** Reads whole lines; the last one need not have an end. */
  read(bytes: Uint8Array, length = bytes.length): void {
    const spans = this.#spans;
    for (let start = hasMark(bytes) ? 3 : 0; start < length; ) {
      const found = bytes.indexOf(NEWLINE, start);
      const next = found < 0 || found >= length ? length : found;
      const end = next > start && bytes[next - 1] === RETURN ? next - 1 : next;
      this.counts.lines += 1;
      spans.clear();
      const kind = end - start >= MOST_LINE_BYTES ? tooLong(spans) : this.#reader.read(bytes, start, end, spans);
      if (kind === LINE.bad) this.#bad(bytes, start, end, spans.problem);
      else if (kind === LINE.request && (this.#where.length === 0 || this.#isMeant(bytes)))
        this.#row(bytes, start, end);
      else this.counts.skipped += 1;
      start = next + 1;
    }
  }

  #isMeant(bytes: Uint8Array): boolean {
    return this.#where.every(([field, value]) => this.#text(bytes, field) === value);
  }

  #row(bytes: Uint8Array, start: number, end: number): void {
    const { rows } = this;
    const time = this.#time(bytes);
    const client = this.keys.idOf(bytes, this.#spans);
    const cost = rows.costs === undefined ? 1 : this.#cost(bytes);
    // NaN too.
    if (!(time > 0) || client === NOBODY || !(cost >= 0)) {
      this.#bad(bytes, start, end, reasonOf(time, client));
      return;
    }
    const row = rows.count;
    if (row === rows.times.length) rows.reserve(row + 1);
    rows.times[row] = time;
    rows.clients[row] = client;
    if (rows.addresses !== undefined) rows.addresses[row] = this.tables.clients.address;
    if (rows.costs !== undefined) rows.costs[row] = cost;
    if (rows.routes !== undefined) rows.routes[row] = this.#route(bytes);
    if (rows.spends !== undefined) rows.spends[row] = this.#spends!.numberOf((field) => this.#text(bytes, field), time);
    if (rows.lines !== undefined) rows.lines.push(textOf(bytes, start, end));
    rows.count = row + 1;
  }

  #text(bytes: Uint8Array, field: string): string | undefined {
    const index = this.#fields.indexOf(field);
    return index < 0 ? undefined : fieldText(bytes, this.#spans, index);
  }

  #time(bytes: Uint8Array): number {
    const { at } = this.#spans;
    if (at[0]! < 0) return Number.NaN;
    const { dateField } = this.#reader;
    if (dateField < 0) return this.times.read(bytes, at[0]!, at[1]!);
    return this.times.readParts(bytes, at[dateField * 2]!, at[dateField * 2 + 1]!, at[0]!, at[1]!);
  }

  /** NaN when one of the fields is no whole number; a field that is not there costs nothing. */
  #cost(bytes: Uint8Array): number {
    let sum = 0;
    for (const field of this.#costFields) {
      const text = fieldText(bytes, this.#spans, field);
      if (text !== undefined) sum += /^\d{1,12}(?:\.0+)?$/.test(text) ? Number(text) : Number.NaN;
    }
    return sum;
  }

  #route(bytes: Uint8Array): number {
    const { at } = this.#spans;
    const start = at[this.#pathField * 2]!;
    if (start < 0) return -1;
    const end = pathEnd(bytes, start, at[this.#pathField * 2 + 1]!);
    const { routes } = this.tables;
    const from = pathStart(bytes, start, end);
    // Who takes the rows of a worker numbers its routes too, and knows which are too many.
    if (this.#packs || routes.size < MOST_ROUTES) return routes.idOf(bytes, from, end);
    const id = routes.find(bytes, from, end);
    return id < 0 ? OTHER_ROUTES : id;
  }

  #bad(bytes: Uint8Array, start: number, end: number, reason: string): void {
    this.counts.bad += 1;
    if (this.badLines.length >= MOST_SHOWN) return;
    const text = textOf(bytes, start, Math.min(end, start + SHOWN_CHARACTERS));
    this.badLines.push({ line: this.counts.lines, reason, text });
  }
}

function reasonOf(time: number, client: number): string {
  if (!(time > 0)) return 'has no time that can be read';
  return client === NOBODY
    ? 'does not say who the client is: --field ip=NAME names the field, --key takes another'
    : 'has no cost that is a whole number';
}

/** Files of Windows begin with the bytes that mark UTF-8. */
function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function tooLong(spans: Spans): number {
  spans.problem = `is ${MOST_LINE_BYTES} bytes or longer`;
  return LINE.bad;
}

/** Whether a format has a field that is nice to have. */
export function hasField(format: LineFormat, name: string): boolean {
  try {
    format.reader([name]);
    return true;
  } catch {
    return false;
  }
}
