/** Which logs there are, and what is known of each before it is read: its format, and the time of its first lines. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { FormatError, type LineFormat, textOf } from '../logs/line-format.ts';
import type { ParsedBlock } from '../logs/parse-block.ts';
import { FIRST_LINES, type FormatOptions, firstTime, formatOf } from '../logs/recognize.ts';
import { type LogSource, openFile, openStream } from './line-blocks.ts';

/** A log by its name. */
export interface FoundLog {
  readonly name: string;
  /** Nobody named it: it lies in a folder. */
  readonly isListed: boolean;
}

/** A folder stands for the files in it, and in the folders in it; `-` is standard input. */
export async function findLogs(paths: readonly string[]): Promise<readonly FoundLog[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      if (path === '-' || !(await stat(path)).isDirectory()) return [{ name: path, isListed: false }];
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
      const names = files.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
      if (names.length === 0) throw new FormatError(`${path}: the folder has no files`);
      return names.map((name) => ({ name, isListed: true }));
    }),
  );
  return found.flat();
}

/** One log on its way. */
export interface OpenLog {
  readonly name: string;
  readonly number: number;
  /** Bytes on the disk; undefined when nobody knows. */
  readonly size: number | undefined;
  /** Undefined before it is read, and after. */
  source: LogSource | undefined;
  format: LineFormat | undefined;
  readonly blocks: Promise<ParsedBlock>[];
  isOver: boolean;
  /** Where the next part begins that somebody else reads; -1 while the bytes are read here. */
  next: number;
  /** Bytes that were read, as far as their rows are here. */
  position: number;
  /** Lines before the block that comes next. */
  lines: number;
}

/** Where logs come from, and what is said of them. */
export interface Opening {
  readonly input: Readable | undefined;
  readonly format: FormatOptions;
  /** Sentences about logs that are not read, or not to their end. */
  readonly notes: string[];
  /** A further source of rows, none of which is expected much before a time. Answers its number. */
  addSource(from: number): number;
}

/**
 * Looks at the beginning of every file, so that it need not be open before its time has come: a folder may have a year of them. A file in a folder
 * that is no log is left out, and that is noted; one that somebody named must be one.
 */
export async function lookAt(found: readonly FoundLog[], opening: Opening): Promise<OpenLog[]> {
  const logs: OpenLog[] = [];
  for (const log of found) {
    if (log.name === '-') {
      const source = openStream('standard input', opening.input!);
      logs.push(openLog(source.name, undefined, opening.addSource(Number.NEGATIVE_INFINITY), source));
      continue;
    }
    const peeked = await peek(log, opening);
    if (peeked === undefined) continue;
    logs.push(openLog(log.name, peeked.size, opening.addSource(peeked.first), peeked.source));
  }
  if (logs.length === 0 && opening.notes.some((note) => note.includes(LEFT_OUT))) {
    throw new FormatError(`none of the files is a log that can be read. ${opening.notes[0]}`);
  }
  return logs;
}

const LEFT_OUT = ' was left out: ';

function openLog(name: string, size: number | undefined, number: number, source?: LogSource): OpenLog {
  return { name, number, size, source, format: undefined, blocks: [], isOver: false, next: -1, position: 0, lines: 0 };
}

interface Peeked {
  readonly size: number | undefined;
  /** A pipe cannot be opened twice. */
  readonly source?: LogSource;
  readonly first: number;
}

async function peek({ name, isListed }: FoundLog, { format, notes }: Opening): Promise<Peeked | undefined> {
  try {
    const source = await openFile(name);
    if (source.size === undefined) return { size: undefined, source, first: Number.NEGATIVE_INFINITY };
    const bytes = await source.next().finally(() => source.close());
    const lines = linesOf(bytes ?? new Uint8Array());
    if (lines.length === 0) {
      notes.push(`${name}: ${source.problem ?? 'it is empty.'}`);
      return undefined;
    }
    return { size: source.size, first: firstTime(formatOf(lines, format), lines) };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    if (!isListed) throw new FormatError(`${name}: ${error.message}`);
    notes.push(`${name}${LEFT_OUT}${error.message.split('. ')[0]}.`);
    return undefined;
  }
}

const FIRST_BYTES = 1 << 18;

/** The first lines that say something. */
export function linesOf(bytes: Uint8Array): string[] {
  const text = textOf(bytes, 0, Math.min(bytes.length, FIRST_BYTES));
  const lines = text.split(/\r?\n/);
  // The last one may be cut off; a line that is longer than all of it is all there is.
  if (lines.length > 1 && (bytes.length > FIRST_BYTES || text.endsWith('\n'))) lines.pop();
  return lines.filter((line) => line.trim() !== '').slice(0, FIRST_LINES);
}
