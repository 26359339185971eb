/** Rows that gave the same answers to everything so far: other bookkeeping, the same limiter. */
import type { Lab } from '../lab/lab.ts';
import type { Row } from '../model/row.ts';

/** Fewer answers say nothing yet. */
const LEAST = 3;

/** By row: the title of an earlier row with the same answers. Only once somebody was denied, or all rows would be the same. */
export function twinsOf({ trace, rows }: Lab): Readonly<Record<string, string>> {
  if (trace.length - trace.first < LEAST) return {};
  const twins: Record<string, string> = {};
  rows.forEach((row, place) => {
    if (!wasDenied(trace, row)) return;
    const twin = rows.slice(0, place).find((other) => areSame(trace, row, other));
    if (twin !== undefined) twins[row.id] = twins[twin.id] ?? twin.title;
  });
  return twins;
}

function wasDenied(trace: Lab['trace'], { id }: Row): boolean {
  return trace.rows[id]!.counts.some(({ denied }) => denied > 0);
}

/** To the last answer, the time to wait included: that is where they would differ first. */
function areSame(trace: Lab['trace'], one: Row, other: Row): boolean {
  const [mine, theirs] = [trace.rows[one.id]!, trace.rows[other.id]!];
  for (let index = trace.first; index < trace.length; index += 1) {
    const slot = trace.slot(index);
    if (mine.asked[slot] !== theirs.asked[slot] || mine.allowed[slot] !== theirs.allowed[slot]) return false;
    if (mine.delay[slot] !== theirs.delay[slot]) return false;
    if (Math.abs(mine.retryAfter[slot]! - theirs.retryAfter[slot]!) > 0.01) return false;
  }
  return true;
}
