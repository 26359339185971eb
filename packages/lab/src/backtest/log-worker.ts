/**
 * Reads a log and decides it, beside the page, so that the page stays awake. The log is read once, into columns of numbers; a policy is then decided
 * over all of them. Nothing is sent anywhere.
 */
import {
  curveChoice,
  curveFor,
  formatOf,
  newTables,
  PolicyScenario,
  packingOf,
  planFor,
  Replay,
  RequestReader,
  RowBuffer,
  type RowTaker,
  suggested,
  type Tables,
  trafficReport,
  unreadable,
} from '@sluice/server/backtest/engine';
import { checkPolicy } from 'sluice';
import type { FromWorker, ReadLog, ToWorker } from './messages.ts';

const HAS = { routes: true, costs: false, spends: false, lines: false };
/** Microseconds that a line may come late. */
const WINDOW = 300e6;
/** Requests that a page holds: 200 MB of them. */
const MOST_ROWS = 10_000_000;
const PROGRESS_MS = 100;
const NEWLINE = 10;
const FIRST_BYTES = 1 << 17;

/** All rows, in order. */
class Collected implements RowTaker {
  readonly rows = new RowBuffer(HAS);

  decide(rows: RowBuffer, from: number, to: number): void {
    const { rows: all } = this;
    const at = all.count;
    all.reserve(at + to - from);
    all.times.set(rows.times.subarray(from, to), at);
    all.clients.set(rows.clients.subarray(from, to), at);
    all.routes!.set(rows.routes!.subarray(from, to), at);
    all.count = at + to - from;
  }
}

let collected = new Collected();
let replay = replayInto(collected);
let tables: Tables = newTables();

function replayInto(taker: RowTaker): Replay {
  return new Replay({ window: WINDOW, has: HAS, takers: [taker] });
}

const post = (message: FromWorker): void => postMessage(message);

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'decide') decide(data.id, data.policy);
  else open(data).catch((error: Error) => post({ kind: 'failed', message: error.message }));
});

async function open({ log, name, key, format }: ToWorker & { readonly kind: 'open' }): Promise<void> {
  collected = new Collected();
  replay = replayInto(collected);
  tables = newTables(crypto.getRandomValues(new Int32Array(1))[0]!);
  const source = replay.sorter.open();
  let reader: RequestReader | undefined;
  let about = '';
  let told = performance.now();
  let isCut = false;
  for await (const { bytes, position } of blocksOf(log)) {
    if (reader === undefined) {
      const found = formatOf(firstLines(bytes), format === '' ? {} : { format });
      about = found.about;
      reader = new RequestReader({ format: found, key: planFor(key, found.name), routes: true, lines: false, tables });
    }
    reader.read(bytes);
    replay.push(source, reader.rows, tables.clients.size);
    reader.rows.clear();
    if (performance.now() - told > PROGRESS_MS) {
      told = performance.now();
      post({ kind: 'progress', bytes: position, size: log.size, lines: reader.counts.lines });
    }
    isCut = replay.requests > MOST_ROWS;
    if (isCut) break;
  }
  replay.sorter.close(source);
  replay.end();
  if (reader === undefined) throw new Error('the log is empty');
  post({ kind: 'read', log: readLog(name, about, reader, isCut) });
}

function readLog(name: string, format: string, reader: RequestReader, isCut: boolean): ReadLog {
  const choice = curveChoice(false);
  const curve = curveFor(choice);
  curve.decide(collected.rows, 0, collected.rows.count, replay.clients);
  return {
    name,
    format,
    traffic: trafficReport(replay, tables, []),
    lines: { ...reader.counts, late: replay.sorter.late },
    badLines: reader.badLines,
    isWholeSeconds: !reader.times.hasFractions,
    isCut,
    curve: suggested(curve, choice, 0.999),
  };
}

function decide(id: number, data: Readonly<Record<string, unknown>>): void {
  const started = performance.now();
  try {
    const scenario = new PolicyScenario(checkPolicy(data), '');
    scenario.decide(collected.rows, 0, collected.rows.count, replay.clients);
    const [report] = trafficReport(replay, tables, [{ scenario }]).policies;
    post({ kind: 'decided', id, report: report!, ms: performance.now() - started });
  } catch (error) {
    post({ kind: 'failed', message: (error as Error).message });
  }
}

interface Block {
  /** Whole lines. */
  readonly bytes: Uint8Array;
  /** Bytes of the file that were read. */
  readonly position: number;
}

/** The lines of a file, block by block; what is packed with gzip is unpacked on the way. */
async function* blocksOf(log: Blob): AsyncGenerator<Block> {
  let position = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      position += chunk.length;
      controller.enqueue(chunk);
    },
  });
  const packing = packingOf(new Uint8Array(await log.slice(0, 8).arrayBuffer()));
  if (packing !== undefined && packing !== 'gzip') throw new Error(unreadable(packing, 'FILE'));
  const raw = log.stream().pipeThrough(counted);
  const reader = (packing === 'gzip' ? raw.pipeThrough(new DecompressionStream('gzip')) : raw).getReader();
  let rest = new Uint8Array();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const end = value.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      rest = joined(rest, value);
      continue;
    }
    yield { bytes: joined(rest, value.subarray(0, end)), position };
    rest = value.slice(end);
  }
  if (rest.length > 0) yield { bytes: rest, position };
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function firstLines(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes.subarray(0, FIRST_BYTES)).split(/\r?\n/).slice(0, 50);
}
