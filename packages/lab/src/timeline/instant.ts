/** What every lane says about one instant. */
import type { Lab } from '../lab/lab.ts';
import { reasonOf } from '../model/reasons.ts';
import type { Row } from '../model/row.ts';
import type { Outcome } from '../trace/answers.ts';
import { amount, clockTime, count, durationWords } from '../words/words.ts';

export interface Instant {
  readonly time: number;
  /** The requests that came then: from the first up to, but not, the end. */
  readonly first: number;
  readonly end: number;
}

/** The instant at a time, moved to the nearest request that is within `snap` of it. */
export function instantAt(lab: Lab, time: number, snap: number): Instant {
  const { trace } = lab;
  const at = (index: number): number =>
    index >= trace.first && index < trace.length ? trace.at[trace.slot(index)]! : Number.POSITIVE_INFINITY;
  const before = trace.lastAt(time);
  const after = before < 0 ? trace.first : before + 1;
  const nearest = Math.abs(at(before) - time) <= Math.abs(at(after) - time) ? before : after;
  if (!(Math.abs(at(nearest) - time) <= snap)) return { time, first: 0, end: 0 };
  let [first, end] = [nearest, nearest + 1];
  while (at(first - 1) === at(nearest)) first -= 1;
  while (at(end) === at(nearest)) end += 1;
  return { time: at(nearest), first, end };
}

/** "10 of 10 in 10 s, denied". */
export function readoutOf(
  lab: Lab,
  row: Row,
  { time, first, end }: Instant,
): { text: string; outcome: Outcome | undefined } {
  const { units, window } = row.meant;
  const allowed = lab.trace.rows[row.id]!.admissions[lab.client]!.within(time - window, time);
  const text = `${amount(allowed)} of ${amount(units)} in ${durationWords(window)}`;
  if (first === end) return { text, outcome: undefined };
  const { words, outcome } = outcomesOf(lab, row.id, first, end);
  return { text: `${text}, ${words}`, outcome };
}

const OUTCOMES = ['allowed', 'delayed', 'denied'] as const;

/** One outcome by its name; several with how many of each there were. */
function outcomesOf(lab: Lab, id: string, first: number, end: number): { words: string; outcome: Outcome | undefined } {
  const counts = { allowed: 0, delayed: 0, denied: 0 };
  for (let index = first; index < end; index += 1) {
    const outcome = lab.trace.outcome(id, index);
    if (outcome !== undefined) counts[outcome] += 1;
  }
  const there = OUTCOMES.filter((outcome) => counts[outcome] > 0);
  if (there.length === 0) return { words: 'not asked', outcome: undefined };
  if (end - first === 1) return { words: there[0]!, outcome: there[0] };
  const words = there.map((outcome) => `${count(counts[outcome])} ${outcome}`).join(', ');
  return { words, outcome: there.length === 1 ? there[0] : undefined };
}

/** For those who hear it: the time, and each row's answer. */
export function describeInstant(lab: Lab, time: number): string {
  const { first, end, time: at } = instantAt(lab, time, 1);
  if (first === end) return clockTime(time);
  const answers = lab.rows.map((row) => {
    const { words } = outcomesOf(lab, row.id, first, end);
    const isAsked = lab.trace.outcome(row.id, end - 1) !== undefined;
    return isAsked
      ? `${row.title} ${words}, ${reasonOf(lab.trace, row, end - 1, lab.origin)}`
      : `${row.title} ${words}`;
  });
  return `${end - first === 1 ? 'Request' : `${end - first} requests`} at ${clockTime(at)}: ${answers.join('; ')}`;
}

/** Arrow keys go from request to request; null takes the pointer away, undefined is a key that means nothing here. */
export function instantByKey({ trace, time }: Lab, key: string, here: number): number | null | undefined {
  const at = (index: number): number =>
    trace.length === 0 ? time : trace.at[trace.slot(Math.max(trace.first, Math.min(trace.length - 1, index)))]!;
  if (key === 'ArrowLeft') return at(trace.lastAt(here - 0.001));
  if (key === 'ArrowRight') return at(trace.lastAt(here) + 1);
  if (key === 'Home') return at(trace.first);
  if (key === 'End') return at(trace.length - 1);
  return key === 'Escape' ? null : undefined;
}
