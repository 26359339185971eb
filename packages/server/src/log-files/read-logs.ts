/** All logs of a run, merged by time, into a replay. */
import type { Readable } from 'node:stream';
import type { Replay } from '../backtest/replay.ts';
import { FormatError } from '../logs/line-format.ts';
import type { ParsedBlock } from '../logs/parse-block.ts';
import type { FormatOptions } from '../logs/recognize.ts';
import type { BadLine, LineCounts } from '../logs/request-reader.ts';
import { RowBuffer } from '../logs/rows.ts';
import { openFile, PART_BYTES } from './line-blocks.ts';
import { type FoundLog, linesOf, lookAt, type OpenLog } from './open-logs.ts';
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
  /** Called once, when a time has a fraction of a second. */
  readonly onFractions?: (() => void) | undefined;
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
  /** Sentences about logs that were not read, or not to their end. */
  readonly notes: readonly string[];
}

/** Bad lines that are shown, of all logs together. */
const MOST_SHOWN = 5;

/** Reads logs into a replay, the one that is furthest behind first. */
export async function readLogs(
  found: readonly FoundLog[],
  input: Readable | undefined,
  parser: Parser,
  replay: Replay,
  options: ReadOptions & FormatOptions = {},
): Promise<ReadResult> {
  const notes: string[] = [];
  const { format, fields } = options;
  const addSource = (from: number): number => replay.sorter.open(from);
  const logs = await lookAt(found, { input, notes, addSource, format: { format, fields } });
  try {
    return await readAll(logs, notes, parser, replay, options);
  } finally {
    await Promise.all(logs.map(({ source }) => source?.close()));
  }
}

async function readAll(
  logs: readonly OpenLog[],
  notes: string[],
  parser: Parser,
  replay: Replay,
  { onProgress, onFractions, signal }: ReadOptions,
): Promise<ReadResult> {
  const counts: LineCounts = { lines: 0, skipped: 0, bad: 0 };
  const badLines: (BadLine & { file: string })[] = [];
  let hasFractions = false;
  const sizes = logs.map((log) => log.size);
  const size = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, each) => sum + each!, 0);
  for (let behind = replay.sorter.behind; behind >= 0 && signal?.aborted !== true; behind = replay.sorter.behind) {
    const log = logs[behind]!;
    const block = await nextBlock(log, parser);
    if (block === undefined) {
      if (log.source?.problem !== undefined) notes.push(`${log.name}: ${log.source.problem}`);
      await log.source?.close();
      log.source = undefined;
      replay.sorter.close(behind);
      continue;
    }
    if (block.hasFractions && !hasFractions) onFractions?.();
    hasFractions ||= block.hasFractions;
    for (const bad of block.badLines) {
      if (badLines.length < MOST_SHOWN) badLines.push({ ...bad, line: bad.line + log.lines, file: log.name });
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
  const read = logs.flatMap(({ name, format }) => (format === undefined ? [] : [{ file: name, format: format.about }]));
  return { counts, badLines, logs: read, isWholeSeconds: !hasFractions, isInterrupted, notes };
}

/** The oldest block on its way; as many as the parser takes are sent after it. */
async function nextBlock(log: OpenLog, parser: Parser): Promise<ParsedBlock | undefined> {
  while (!log.isOver && log.blocks.length < parser.depth) {
    if (log.next >= 0) sendPart(log, parser);
    else await sendBlock(log, parser);
  }
  const block = await log.blocks.shift();
  const ahead = log.next < 0 ? 0 : log.blocks.length * PART_BYTES;
  log.position = Math.max(0, log.next < 0 ? (log.source?.position ?? 0) : log.next - ahead);
  return block;
}

async function sendBlock(log: OpenLog, parser: Parser): Promise<void> {
  log.source ??= await openFile(log.name);
  const bytes = await log.source.next();
  if (bytes === undefined) {
    log.isOver = true;
    return;
  }
  if (log.format === undefined) {
    const lines = linesOf(bytes);
    if (lines.length === 0) {
      log.blocks.push(Promise.resolve(emptyBlock(bytes)));
      return;
    }
    const { file } = log.source;
    log.format = named(log.name, () => parser.open(log.number, lines, file));
    // The rest of the file is read by those who parse it.
    if (file !== undefined && parser.parsePart !== undefined && log.lines === 0 && log.blocks.length === 0) {
      log.next = 0;
      return;
    }
  }
  log.blocks.push(parser.parse(log.number, bytes));
}

function named<T>(name: string, task: () => T): T {
  try {
    return task();
  } catch (error) {
    throw error instanceof FormatError ? new FormatError(`${name}: ${error.message}`) : error;
  }
}

/** Lines that say nothing. */
function emptyBlock(bytes: Uint8Array): ParsedBlock {
  const rows = new RowBuffer({ routes: false, costs: false, spends: false, lines: false });
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines += 1;
  return { rows, counts: { lines, skipped: lines, bad: 0 }, badLines: [], hasFractions: false };
}

const NEWLINE = 10;

/** The parser reads the file itself: it is told which part is next. */
function sendPart(log: OpenLog, parser: Parser): void {
  const end = Math.min(log.next + PART_BYTES, log.size!);
  log.isOver = end === log.size;
  if (end > log.next) log.blocks.push(parser.parsePart!(log.number, log.next, end));
  log.next = end;
}
