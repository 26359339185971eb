/**
 * How the lines of a log are read: a format finds the fields of a line by their places in its bytes, and nothing is copied or decoded before
 * it is wanted. Nothing in this folder touches a file or a platform: the lab's page reads logs with it too.
 */

/** The names that every format knows its own fields by; others are those of the format itself: a variable, a column, a path in JSON. */
export const FIELD_NAMES = ['time', 'ip', 'method', 'path', 'status', 'duration', 'user', 'host'] as const;

/** One of the names that mean the same in every format. */
export type FieldName = (typeof FIELD_NAMES)[number];

/** Where the fields of one line are. A reader has one, and every line is read into it. */
export class Spans {
  /** By field: its first byte, and the byte after its last; -1 when the line does not have it. */
  readonly at: Int32Array;
  /** A bit for each field that holds escapes of JSON. */
  escaped = 0;
  /** What is wrong with the line, when it cannot be read. */
  problem = '';

  constructor(fields: number) {
    this.at = new Int32Array(fields * 2);
  }

  clear(): void {
    this.at.fill(-1);
    this.escaped = 0;
    this.problem = '';
  }

  set(field: number, start: number, end: number): void {
    this.at[field * 2] = start;
    this.at[field * 2 + 1] = end;
  }
}

/** What came of looking at a line. */
export const LINE = { request: 0, nothing: 1, bad: 2 } as const;

/** Finds the fields that were asked for. */
export interface LineReader {
  /** Looks at `bytes` from `start` to `end`, without the line end. Answers one of `LINE`. */
  read(bytes: Uint8Array, start: number, end: number, spans: Spans): number;
  /** The times of the log have no day in them: it is the field of this index. -1 when they have. */
  readonly dateField: number;
}

/** A format of log lines. */
export interface LineFormat {
  /** As `--format` takes it. */
  readonly name: string;
  /** For people: what was recognised. */
  readonly about: string;
  /** Fields in the order of `wanted`. Throws a `FormatError` when the format has no such field. */
  reader(wanted: readonly string[]): LineReader;
  /** Whether its lines are a template of text. */
  readonly isText?: boolean | undefined;
  /** Whether its addresses may come with a port, or as a list of hops. */
  readonly hasLooseAddresses: boolean;
}

/** What is wrong with a format, or with what is wanted of it: a sentence for people. */
export class FormatError extends Error {}

const decoder = new TextDecoder('utf-8');

/** The text of some bytes; what is not UTF-8 becomes a replacement character. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return decoder.decode(bytes.subarray(start, end));
}

const encoder = new TextEncoder();

/** The bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of a field, without the escapes that its format has. */
export function fieldText(bytes: Uint8Array, spans: Spans, field: number): string | undefined {
  const start = spans.at[field * 2]!;
  if (start < 0) return undefined;
  const text = textOf(bytes, start, spans.at[field * 2 + 1]!);
  return (spans.escaped & (1 << field)) === 0 ? text : unescaped(text);
}

/** A text of JSON without its escapes; as it stands when they are wrong. */
export function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
