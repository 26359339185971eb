/** Why: the answer to one request in words, from the numbers of the answer. */
import { windowShare } from '../trace/clock-windows.ts';
import type { Trace } from '../trace/trace.ts';
import { amount, count, seconds } from '../words/words.ts';
import type { Denied } from './kind.ts';
import type { Row } from './row.ts';

export function reasonOf(trace: Trace, row: Row, index: number, origin: number): string {
  const answers = trace.rows[row.id]!;
  const slot = trace.slot(index);
  const [remaining, cost, retryAfter] = [answers.remaining[slot]!, trace.cost[slot]!, answers.retryAfter[slot]!];
  const limit = answers.limit[slot]!;
  if (answers.delay[slot]! > 0) return `waits ${seconds(answers.delay[slot]!, 2)} for its slot`;
  if (answers.allowed[slot] === 1) return `${amount(remaining)} of ${count(limit)} left`;
  if (retryAfter === Number.POSITIVE_INFINITY) return `${count(cost)} can never fit into ${count(limit)}`;
  const why =
    cost > 1 ? `${count(remaining)} left, ${count(cost)} asked` : row.kind.why(deniedAt(trace, row, slot, origin));
  return `${why}; retry in ${seconds(retryAfter, 2)}`;
}

function deniedAt(trace: Trace, row: Row, slot: number, origin: number): Denied {
  const answers = trace.rows[row.id]!;
  const share = Number.isFinite(row.clockWindow) ? 1 - windowShare(trace.at[slot]! + origin, row.clockWindow) : 0;
  return { numbers: row.numbers, current: answers.inWindow[slot]!, previous: answers.inPrevious[slot]!, share };
}
