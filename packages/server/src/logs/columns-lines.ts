/**
 * Lines of columns: CSV with quotes, and the logs of CloudFront and other servers that write a line `#Fields:` and then values between tabs or
 * spaces. A field is a column by its name.
 */
import { FormatError, LINE, type LineReader, type Spans } from './line-format.ts';
import { bad } from './text-lines.ts';

const QUOTE = 34;
const HASH = 35;
const MOST_COLUMNS = 4096;

/** What separates columns, and which there are. */
export interface Columns {
  readonly separator: string;
  readonly names: readonly string[];
  /** A line that only repeats the names: those of several files that were put together. */
  readonly header: string;
}

/** Which column each field is, in the order of `wanted`; `dateField` is the index of the day when it is a column of its own. */
export function columnsReader(columns: Columns, wanted: readonly number[], dateField = -1): LineReader {
  const fieldOf = new Int32Array(Math.min(MOST_COLUMNS, Math.max(...wanted, 0) + 1)).fill(-1);
  for (const [field, column] of wanted.entries()) fieldOf[column] = field;
  const separator = columns.separator.charCodeAt(0);
  const read: LineReader['read'] = (bytes, start, end, spans) => {
    if (start === end || bytes[start] === HASH || isHeader(columns.header, bytes, start, end)) return LINE.nothing;
    return readColumns(fieldOf, separator, bytes, start, end, spans);
  };
  return { dateField, read };
}

function readColumns(
  fieldOf: Int32Array,
  separator: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  spans: Spans,
): number {
  let at = start;
  for (let column = 0; column < fieldOf.length; column += 1) {
    if (at > end) return bad(spans, `has ${column} columns, and the field that is wanted is a later one`);
    const isQuoted = at < end && bytes[at] === QUOTE;
    const from = isQuoted ? at + 1 : at;
    const stop = isQuoted ? csvQuoteEnd(bytes, from, end) : separatorAt(bytes, from, end, separator);
    if (stop < 0) return bad(spans, 'has a quote that does not end');
    const field = fieldOf[column]!;
    const isNothing = stop === from || (stop - from === 1 && bytes[from] === 45);
    if (field >= 0 && !isNothing) spans.set(field, from, stop);
    at = isQuoted ? stop + 1 : stop;
    if (at < end && bytes[at] !== separator) return bad(spans, 'has text after a quote that ended');
    at += 1;
  }
  return LINE.request;
}

function separatorAt(bytes: Uint8Array, from: number, end: number, separator: number): number {
  let at = from;
  while (at < end && bytes[at] !== separator) at += 1;
  return at;
}

/** Two quotes stand for one. */
function csvQuoteEnd(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at += 1) {
    if (bytes[at] !== QUOTE) continue;
    if (bytes[at + 1] !== QUOTE || at + 1 >= end) return at;
    at += 1;
  }
  return -1;
}

function isHeader(header: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== header.length || header === '') return false;
  for (let index = 0; index < header.length; index += 1) {
    if (bytes[start + index] !== header.charCodeAt(index)) return false;
  }
  return true;
}

/** The names in the first line of a CSV. */
export function csvColumns(header: string): Columns {
  const separators = [',', '\t', ';', '|'];
  const counts = separators.map((separator) => header.split(separator).length);
  const separator = separators[counts.indexOf(Math.max(...counts))]!;
  const names = header.split(separator).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
  if (names.length > MOST_COLUMNS) throw new FormatError(`the first line has more than ${MOST_COLUMNS} columns`);
  return { separator, names, header };
}

/** The names in a line `#Fields: date time c-ip ...`; CloudFront writes its values between tabs, others between spaces. */
export function w3cColumns(fieldsLine: string, firstLine: string | undefined): Columns {
  const names = fieldsLine
    .replace(/^#Fields:\s*/i, '')
    .trim()
    .split(/\s+/);
  return { separator: firstLine?.includes('\t') === false ? ' ' : '\t', names, header: '' };
}
