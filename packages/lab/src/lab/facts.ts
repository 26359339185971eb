/** How things stand, as stories and verdicts are told by it: at the moment that is shown. */
import type { Row } from '../model/row.ts';
import { stateAt } from '../model/state.ts';
import type { Facts } from '../model/stories/story.ts';
import type { Trace } from '../trace/trace.ts';

export interface Moment {
  readonly trace: Trace;
  readonly rows: readonly Row[];
  readonly time: number;
  readonly origin: number;
}

export function factsAt({ trace, rows, time, origin }: Moment): Facts {
  const last = trace.lastAt(time);
  const counts = (id: string, client: number) => trace.countsUpTo(id, client, last);
  const running = (id: string, column: 'worst' | 'longestWait'): number =>
    last < 0 ? 0 : trace.rows[id]![column][trace.slot(last)]!;
  return {
    rows,
    sent(client = 0) {
      let sent = 0;
      for (let index = trace.first; index <= last; index += 1)
        if (trace.client[trace.slot(index)] === client) sent += 1;
      return sent;
    },
    allowed: (id, client = 0) => counts(id, client).allowed,
    denied: (id, client = 0) => counts(id, client).denied,
    remaining: (id, client = 0) => stateAt(trace, rows.find((row) => row.id === id)!, client, time, origin).remaining,
    worst: (id) => running(id, 'worst'),
    longestWait: (id) => running(id, 'longestWait'),
  };
}
