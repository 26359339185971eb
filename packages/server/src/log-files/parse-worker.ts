/** What a worker of `sluice backtest` does: reads blocks, and hands the rows on without copying them twice. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { planFor } from '../logs/log-keys.ts';
import { BlockReader } from '../logs/parse-block.ts';
import { formatOf } from '../logs/recognize.ts';
import { newTables } from '../logs/request-reader.ts';
import type { Rows } from '../logs/rows.ts';
import type { FromWorker, ToWorker } from './parsers.ts';

/** Clients that a worker knows by number. Beyond that it begins anew, so that a million clients are kept once and not in each worker. */
const MOST_CLIENTS = 100_000;

export function work(port: MessagePort = parentPort!): void {
  const readers: BlockReader[] = [];
  let tables = newTables();
  let clients = 0;
  let routes = 0;
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'open') {
      const { log, lines, options, seed } = message;
      if (readers.length === 0) tables = newTables(seed);
      const format = formatOf(lines, options);
      readers[log] = new BlockReader({ ...options, format, key: planFor(options.key, format.name), tables });
      return;
    }
    const block = readers[message.log]!.read(message.bytes);
    const rows = copied(block.rows);
    const answer: FromWorker = {
      ...block,
      rows,
      clients: { from: clients, ...tables.clients.after(clients) },
      routes: { from: routes, ...tables.routes.after(routes) },
    };
    clients = tables.clients.size;
    routes = tables.routes.size;
    port.postMessage(answer, buffersOf(rows));
    if (clients < MOST_CLIENTS) return;
    clients = 0;
    tables.clients.clear();
    for (const { reader } of readers) reader?.keys.forget();
  });
}

/** The worker reads into the same columns again. */
function copied({ count, times, clients, routes, costs, lines }: Rows): Rows {
  return {
    count,
    times: times.slice(0, count),
    clients: clients.slice(0, count),
    routes: routes?.slice(0, count),
    costs: costs?.slice(0, count),
    spends: undefined,
    lines,
  };
}

function buffersOf({ times, clients, routes, costs }: Rows): ArrayBuffer[] {
  return [times, clients, routes, costs].flatMap((column) =>
    column === undefined ? [] : [column.buffer as ArrayBuffer],
  );
}
