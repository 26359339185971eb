/** What every lane says about one instant. */
import { amount, clockTime, seconds } from '../canvas/words.ts';
import { CARDS, type CardId, durationText, limitOf, spanOf } from '../cards/catalog.ts';
import { reasonOf } from '../cards/reasons.ts';
import type { Lab } from '../engine/lab.ts';
import type { Outcome } from '../engine/trace.ts';

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

export function readoutOf(
  lab: Lab,
  id: CardId,
  { time, first, end }: Instant,
): { text: string; outcome: Outcome | undefined } {
  const policy = lab.policies[id];
  const span = spanOf(policy);
  const through = lab.trace.cards[id].admissions[lab.client]!.within(time - span, time);
  const text = `${amount(through)} / ${limitOf(policy)} in ${spanText(span)}`;
  if (first === end) return { text, outcome: undefined };
  const { words, outcome } = outcomesOf(lab, id, first, end);
  return { text: `${text}, ${words}`, outcome };
}

const OUTCOMES = ['allowed', 'delayed', 'denied'] as const;

/** One outcome by its name; several with how many of each there were. */
function outcomesOf(lab: Lab, id: CardId, first: number, end: number): { words: string; outcome: Outcome | undefined } {
  const counts = { allowed: 0, delayed: 0, denied: 0 };
  for (let index = first; index < end; index += 1) counts[lab.trace.outcome(id, index)] += 1;
  const there = OUTCOMES.filter((outcome) => counts[outcome] > 0);
  if (end - first === 1) return { words: there[0]!, outcome: there[0] };
  const words = there.map((outcome) => `${counts[outcome]} ${outcome}`).join(', ');
  return { words, outcome: there.length === 1 ? there[0] : undefined };
}

function spanText(span: number): string {
  return Number.isInteger(span) ? durationText(span) : seconds(span);
}

/** For those who hear it: the time, and each card's answer. */
export function describeInstant(lab: Lab, time: number): string {
  const { first, end, time: at } = instantAt(lab, time, 1);
  if (first === end) return clockTime(time);
  const { trace } = lab;
  const answers = CARDS.map(({ id, title }) => {
    const { words } = outcomesOf(lab, id, first, end);
    return `${title} ${words}, ${reasonOf(trace, id, end - 1, lab.policies[id])}`;
  });
  return `${end - first === 1 ? 'Request' : `${end - first} requests`} at ${clockTime(at)}: ${answers.join('; ')}`;
}
