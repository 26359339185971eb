/** The last requests of a card, newest first, each with its reason. Its rows are made once and written over. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { clockTime } from '../canvas/words.ts';
import type { Outcome } from '../engine/trace.ts';
import type { CardId } from './catalog.ts';
import { reasonOf } from './reasons.ts';

const ROWS = 4;
/** The shapes of the time line; what they mean is said by the words beside them. */
const MARKS: Readonly<Record<Outcome, string>> = { allowed: '\u25cf', delayed: '\u25c6', denied: '\u2715' };

export function RequestLog({ id }: { readonly id: CardId }): JSX.Element {
  const { lab } = useLab();
  const list = useRef<HTMLOListElement>(null);

  useDraw(() => {
    const { trace } = lab;
    const last = trace.lastAt(lab.time);
    Array.from(list.current!.children).forEach((row, offset) => {
      const index = last - offset;
      const isThere = last >= 0 && index >= trace.first;
      row.className = isThere ? `log-row ${trace.outcome(id, index)}` : 'log-row empty';
      const [time, mark, reason] = row.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      mark.textContent = isThere ? MARKS[trace.outcome(id, index)] : '';
      time.textContent = isThere ? clockTime(trace.at[trace.slot(index)]!) : '';
      const client = lab.clients.length > 1 && isThere ? `${lab.clients[trace.client[trace.slot(index)]!]}: ` : '';
      reason.textContent = isThere ? client + reasonOf(trace, id, index, lab.policies[id]) : '';
    });
  }, READABLE);

  return (
    <ol class="log" ref={list} aria-label="Latest requests">
      {Array.from({ length: ROWS }, (_, row) => (
        <li key={row} class="log-row empty">
          <span class="log-time numeric" />
          <span class="log-mark" aria-hidden="true" />
          <span class="log-reason" />
        </li>
      ))}
    </ol>
  );
}
