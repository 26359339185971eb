/** The same arrivals through one row again, under other numbers. */
import type { BrowserEngine } from '../engine/browser-engine.ts';
import type { Row } from '../model/row.ts';
import type { Trace } from '../trace/trace.ts';

/** All arrivals must still be remembered. */
export async function replayed(
  engine: BrowserEngine,
  trace: Trace,
  row: Row,
  clients: readonly string[],
  origin: number,
): Promise<void> {
  const { asked } = trace.rows[row.id]!;
  const indexes = Array.from({ length: trace.length }, (_, index) => index).filter((index) => asked[index] === 1);
  const arrivals = indexes.map((index) => ({
    at: trace.at[index]!,
    client: trace.client[index]!,
    cost: trace.cost[index]!,
  }));
  const answers = await engine.replay(row, arrivals, clients);
  const byIndex = new Map(indexes.map((index, place) => [index, answers[place]]));
  trace.rewrite(
    row,
    Array.from({ length: trace.length }, (_, index) => byIndex.get(index)),
    origin,
  );
}
