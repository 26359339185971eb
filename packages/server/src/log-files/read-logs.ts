/** All logs of a run, merged by time, into a replay. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Replay } from '../backtest/replay.ts';
import { FormatError, type LineFormat, textOf } from '../logs/line-format.ts';
import type { ParsedBlock } from '../logs/parse-block.ts';
import { FIRST_LINES } from '../logs/recognize.ts';
import type { BadLine, LineCounts } from '../logs/request-reader.ts';
import { type LogSource, openFile, openStream, PART_BYTES } from './line-blocks.ts';
import type { Parser } from './parsers.ts';

/** How far the reading is. */
export interface Progress {
  readonly lines: number;
  /** Bytes read, and how many there are in all; undefined when nobody knows. */
  readonly bytes: number;
  readonly size: number | undefined;
}

/** What goes on while logs are read. */
export interface ReadOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Ends the reading; what was read until then counts. */
  readonly signal?: AbortSignal | undefined;
}

/** What was read of the logs. */
export interface ReadResult {
  readonly counts: LineCounts;
  readonly badLines: readonly (BadLine & { readonly file: string })[];
  readonly logs: readonly { readonly file: string; readonly format: string }[];
  /** Whether all times are whole seconds. */
  readonly isWholeSeconds: boolean;
  readonly isInterrupted: boolean;
}

/** Bad lines that are shown, of all logs together. */
const MOST_SHOWN = 5;

/** A folder stands for the files in it, and in the folders in it; `-` is standard input. */
export async function findLogs(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      if (path === '-' || !(await stat(path)).isDirectory()) return [path];
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
      const names = files.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
      if (names.length === 0) throw new FormatError(`${path}: the folder has no files`);
      return names;
    }),
  );
  return found.flat();
}

/** One log on its way. */
interface OpenLog {
  readonly source: LogSource;
  readonly number: number;
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

export async function readLogs(
  names: readonly string[],
  input: Readable | undefined,
  parser: Parser,
  replay: Replay,
  options: ReadOptions = {},
): Promise<ReadResult> {
  const logs: OpenLog[] = [];
  try {
    for (const name of names) logs.push(await openLog(name, input, replay));
    return await readAll(logs, parser, replay, options);
  } finally {
    await Promise.all(logs.map(({ source }) => source.close()));
  }
}

async function openLog(name: string, input: Readable | undefined, replay: Replay): Promise<OpenLog> {
  const source = name === '-' ? openStream('standard input', input!) : await openFile(name);
  return {
    source,
    number: replay.sorter.open(),
    format: undefined,
    blocks: [],
    isOver: false,
    next: -1,
    position: 0,
    lines: 0,
  };
}

async function readAll(
  logs: readonly OpenLog[],
  parser: Parser,
  replay: Replay,
  { onProgress, signal }: ReadOptions,
): Promise<ReadResult> {
  const counts: LineCounts = { lines: 0, skipped: 0, bad: 0 };
  const badLines: (BadLine & { file: string })[] = [];
  let hasFractions = false;
  const sizes = logs.map(({ source }) => source.size);
  const size = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, each) => sum + each!, 0);
  for (let behind = replay.sorter.behind; behind >= 0 && signal?.aborted !== true; behind = replay.sorter.behind) {
    const log = logs[behind]!;
    const block = await nextBlock(log, parser);
    if (block === undefined) {
      replay.sorter.close(behind);
      continue;
    }
    hasFractions ||= block.hasFractions;
    for (const bad of block.badLines) {
      if (badLines.length < MOST_SHOWN) badLines.push({ ...bad, line: bad.line + log.lines, file: log.source.name });
    }
    log.lines += block.counts.lines;
    counts.lines += block.counts.lines;
    counts.skipped += block.counts.skipped;
    counts.bad += block.counts.bad;
    replay.push(behind, block.rows, parser.tables.clients.size);
    onProgress?.({ lines: counts.lines, bytes: logs.reduce((sum, { position }) => sum + position, 0), size });
  }
  const isInterrupted = signal?.aborted === true;
  for (const log of logs) replay.sorter.close(log.number);
  replay.end();
  const read = logs.flatMap(({ source, format }) =>
    format === undefined ? [] : [{ file: source.name, format: format.about }],
  );
  return { counts, badLines, logs: read, isWholeSeconds: !hasFractions, isInterrupted };
}

/** The oldest block on its way; as many as the parser takes are sent after it. */
async function nextBlock(log: OpenLog, parser: Parser): Promise<ParsedBlock | undefined> {
  while (!log.isOver && log.blocks.length < parser.depth) {
    if (log.next >= 0) {
      sendPart(log, parser);
      continue;
    }
    const bytes = await log.source.next();
    if (bytes === undefined) {
      log.isOver = true;
      break;
    }
    const { file } = log.source;
    log.format ??= named(log, () => parser.open(log.number, linesOf(bytes), file));
    if (file !== undefined && parser.parsePart !== undefined) log.next = 0;
    else log.blocks.push(parser.parse(log.number, bytes));
  }
  const block = await log.blocks.shift();
  log.position = log.next < 0 ? log.source.position : Math.max(0, log.next - log.blocks.length * PART_BYTES);
  return block;
}

/** The parser reads the file itself: it is told which part is next. */
function sendPart(log: OpenLog, parser: Parser): void {
  const end = Math.min(log.next + PART_BYTES, log.source.size!);
  log.isOver = end === log.source.size;
  if (end > log.next) log.blocks.push(parser.parsePart!(log.number, log.next, end));
  log.next = end;
}

function named<T>(log: OpenLog, task: () => T): T {
  try {
    return task();
  } catch (error) {
    throw error instanceof FormatError ? new FormatError(`${log.source.name}: ${error.message}`) : error;
  }
}

const FIRST_BYTES = 1 << 18;

function linesOf(bytes: Uint8Array): string[] {
  const text = textOf(bytes, 0, Math.min(bytes.length, FIRST_BYTES));
  const lines = text.split(/\r?\n/);
  if (bytes.length > FIRST_BYTES || text.endsWith('\n')) lines.pop();
  return lines.slice(0, FIRST_LINES);
}
