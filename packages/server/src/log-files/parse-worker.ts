/** What a worker of `sluice backtest` does: reads parts of files, or blocks that it is sent, and hands the rows on. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { planFor } from '../logs/log-keys.ts';
import { BlockReader } from '../logs/parse-block.ts';
import { formatOf } from '../logs/recognize.ts';
import { newTables } from '../logs/request-reader.ts';
import type { Rows } from '../logs/rows.ts';
import { FileRanges } from './file-ranges.ts';
import type { FromWorker, ToWorker } from './parsers.ts';

/** Texts that a worker knows by number. Beyond that it begins anew, so that a million clients are kept once and not in each worker. */
const MOST_TEXTS = 50_000;

export function work(port: MessagePort = parentPort!): void {
  const readers: BlockReader[] = [];
  const files: (FileRanges | undefined)[] = [];
  // A worker has only texts that are sent to one other table: nobody can foresee the hashes of that one.
  const tables = newTables(0, true);
  let clients = 0;
  let routes = 0;
  const answer = (message: Exclude<ToWorker, { kind: 'open' }>): void => {
    const bytes = message.kind === 'block' ? message.bytes : files[message.log]!.read(message.start, message.end);
    const block = readers[message.log]!.read(bytes);
    const rows = copied(block.rows);
    const parsed: FromWorker = {
      ...block,
      rows,
      clients: { from: clients, ...tables.clients.after(clients) },
      routes: { from: routes, ...tables.routes.after(routes) },
    };
    port.postMessage(parsed, buffersOf(rows));
    clients = tables.clients.size;
    routes = tables.routes.size;
    if (clients + routes < MOST_TEXTS) return;
    clients = 0;
    routes = 0;
    tables.clients.clear();
    tables.routes.clear();
    for (const { reader } of readers) reader.keys.forget();
  };
  port.on('message', (message: ToWorker) => {
    if (message.kind !== 'open') {
      answer(message);
      return;
    }
    const { log, lines, options, file } = message;
    const format = formatOf(lines, options);
    const key = planFor(options.key, format.name);
    readers[log] = new BlockReader({ ...options, format, key, tables, packs: true });
    files[log] = file === undefined ? undefined : new FileRanges(file);
  });
}

/** The worker reads into the same columns again. */
function copied({ count, times, clients, addresses, routes, costs, lines }: Rows): Rows {
  return {
    count,
    times: times.slice(0, count),
    clients: clients.slice(0, count),
    addresses: addresses?.slice(0, count),
    routes: routes?.slice(0, count),
    costs: costs?.slice(0, count),
    spends: undefined,
    lines,
  };
}

function buffersOf({ times, clients, addresses, routes, costs }: Rows): ArrayBuffer[] {
  return [times, clients, addresses, routes, costs].flatMap((column) =>
    column === undefined ? [] : [column.buffer as ArrayBuffer],
  );
}
