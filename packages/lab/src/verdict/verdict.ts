/** What the rows did, in words, from what is in the trace: who went beyond the limit, who agreed, and what would show more. */
import type { Lab } from '../lab/lab.ts';
import type { Row } from '../model/row.ts';
import type { Arrival } from '../trace/trace.ts';
import { amount, count, durationWords, listed, plural } from '../words/words.ts';

export interface Suggestion {
  readonly label: string;
  /** Requests that come from now on, by how much later. */
  readonly arrivals: readonly Arrival[];
}

export interface Verdict {
  readonly text: string;
  readonly suggestion: Suggestion | undefined;
}

interface Score {
  readonly row: Row;
  readonly allowed: number;
  readonly denied: number;
  readonly delayed: number;
  readonly worst: number;
  readonly isOver: boolean;
}

export function verdictOf(lab: Lab): Verdict {
  const scores = scoresOf(lab);
  const sent = Math.max(...scores.map(({ allowed, denied }) => allowed + denied));
  if (sent === 0) return { text: EMPTY, suggestion: burstAcrossEdge(lab) };
  if (new Set(scores.map(({ allowed, denied }) => allowed + denied)).size > 1) {
    return {
      text: 'You sent requests to single rows, so the rows cannot be compared any more. Reset to start over.',
      suggestion: undefined,
    };
  }
  const over = scores.filter(({ isOver }) => isOver);
  if (over.length > 0) return { text: overText(lab, scores, over), suggestion: nextAfterOver(lab) };
  return agreement(lab, scores, sent);
}

const EMPTY = 'Every row gets the same requests at the same moment. Send some, choose a traffic, or pick a story.';

function scoresOf({ trace, rows, time, client }: Lab): readonly Score[] {
  const last = trace.lastAt(time);
  return rows.map((row) => {
    const counts = trace.countsUpTo(row.id, client, last);
    const worst = last < 0 ? 0 : trace.rows[row.id]!.worst[trace.slot(last)]!;
    return { row, ...counts, worst, isOver: worst >= row.meant.units + 1 - 1e-6 };
  });
}

/** "Fixed window allowed 20 in 10 s, where 10 were meant. The other 6 kept to it." The worst by name, the others by number. */
function overText({ limit }: Lab, scores: readonly Score[], over: readonly Score[]): string {
  const worst = Math.max(...over.map((score) => score.worst));
  const worstRows = over.filter((score) => score.worst === worst).map(({ row }) => row);
  const less = over.filter((score) => score.worst < worst);
  const kept = scores.length - over.length;
  const promise = worstRows.every(({ kind }) => kind.hasBurst)
    ? ' That is what they promise: the capacity immediately, and the rate on top.'
    : '';
  const rest = [
    less.length === 0
      ? ''
      : ` ${plural(less.length, 'other row')} went up to ${amount(Math.max(...less.map((score) => score.worst)))}.`,
    kept === 0 ? '' : ` ${kept === 1 ? 'One' : count(kept)} kept to the limit.`,
  ];
  const names = listed(worstRows.map(({ title }) => title.replace(',', '')));
  return `${names} allowed ${amount(worst)} in ${durationWords(limit.window)}, where ${amount(limit.units)} were meant.${promise}${rest.join('')}`;
}

function agreement(lab: Lab, scores: readonly Score[], sent: number): Verdict {
  const allowed = new Set(scores.map((score) => score.allowed));
  if (allowed.size === 1) {
    const how =
      scores[0]!.denied === 0
        ? `all ${plural(sent, 'request')} allowed`
        : `${count(scores[0]!.allowed)} of ${count(sent)} allowed`;
    const waits = scores.some(({ delayed }) => delayed > 0) ? ' Shaping makes some of them wait.' : '';
    return {
      text: `All ${scores.length} agree so far: ${how}.${waits}`,
      suggestion: scores[0]!.denied === 0 ? burst(lab) : burstAcrossEdge(lab),
    };
  }
  const [least, most] = [Math.min(...allowed), Math.max(...allowed)];
  const named = (found: readonly Score[]): string =>
    found.length > 3 ? 'most rows' : listed(found.map(({ row }) => row.title.replace(',', '')));
  const [generous, strict] = [most, least].map((number) => named(scores.filter((score) => score.allowed === number)));
  return {
    text: `Of ${count(sent)} requests ${generous} allowed ${count(most)}, ${strict} ${count(least)}. No row went beyond the limit in any window.`,
    suggestion: burstAcrossEdge(lab),
  };
}

/** Twice what is allowed, at the same moment. */
function burst({ limit }: Lab): Suggestion {
  const size = Math.min(1_000, Math.max(2, 2 * limit.units));
  return {
    label: `Try a burst of ${count(size)}`,
    arrivals: Array.from({ length: size }, () => ({ at: 0, client: 0, cost: 1 })),
  };
}

/** A whole limit just before the next edge of a window that leaves enough time, and another just after: what the fixed window is known for. */
function burstAcrossEdge({ limit, now, origin, engine }: Lab): Suggestion | undefined {
  const { units, window } = limit;
  if (units > 500 || !engine.isVirtual) return undefined;
  const side = 0.04 * window;
  const edge = (Math.floor((now + origin + 2 * side) / window) + 1) * window - origin - now;
  const at = (start: number): Arrival[] =>
    Array.from({ length: units }, (_, index) => ({ at: start + (index * side) / units, client: 0, cost: 1 }));
  return { label: 'Try a burst across the edge of a window', arrivals: [...at(edge - side), ...at(edge)] };
}

/** Steady requests above the limit: what shows how each gives back. */
function nextAfterOver({ limit }: Lab): Suggestion {
  const requests = Math.min(400, 3 * limit.units);
  const gap = (1.5 * limit.window) / requests;
  const arrivals = Array.from({ length: requests }, (_, index) => ({ at: index * gap, client: 0, cost: 1 }));
  return { label: 'Try twice the limit, evenly', arrivals };
}
