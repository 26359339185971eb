/** The last requests of a row, newest first, each with its reason; those that say the same of one moment share a line. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Lab } from '../lab/lab.ts';
import { reasonOf } from '../model/reasons.ts';
import type { Row } from '../model/row.ts';
import type { Outcome } from '../trace/answers.ts';
import { Mark } from '../ui/mark.tsx';
import { useDraw, useLab } from '../view/frames.ts';
import { clockTime } from '../words/words.ts';

/** Lines that are kept; more can be scrolled to than can be seen. */
const LINES = 60;
/** How often it is written anew: faster than that nobody reads. */
const LOG_MS = 250;

interface Line {
  readonly key: string;
  readonly time: string;
  readonly outcome: Outcome;
  readonly text: string;
  readonly times: number;
}

export function RequestLog({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  const [lines, setLines] = useState<readonly Line[]>(() => linesOf(lab, row));
  const list = useRef<HTMLOListElement>(null);
  const seen = useRef('');
  useDraw(() => {
    const next = linesOf(lab, row);
    const key = `${row.id} ${next.map((line) => `${line.key} ${line.times}`).join()}`;
    if (key === seen.current) return;
    seen.current = key;
    setLines(next);
  }, LOG_MS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled has to be reached by keyboard.
    <ol class="log" ref={list} aria-label="Latest requests" tabIndex={0}>
      {lines.length === 0 && <li class="log-empty">No request yet. Send one, or choose a traffic.</li>}
      {lines.map(({ key, time, outcome, text, times }) => (
        <li key={key} class={`log-row ${outcome}`}>
          <span class="log-time numeric">{time}</span>
          <Mark outcome={outcome} />
          <span class="log-reason">
            {text}
            {times > 1 && <b class="numeric"> ×{times}</b>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function linesOf(lab: Lab, row: Row): readonly Line[] {
  const { trace, clients, origin } = lab;
  const lines: Line[] = [];
  for (let index = trace.lastAt(lab.time); index >= trace.first && lines.length < LINES; index -= 1) {
    const outcome = trace.outcome(row.id, index);
    if (outcome === undefined) continue;
    const slot = trace.slot(index);
    const who = clients.length > 1 ? `${clients[trace.client[slot]!]}: ` : '';
    const text = who + reasonOf(trace, row, index, origin);
    const time = clockTime(trace.at[slot]!);
    const last = lines.at(-1);
    if (last?.time === time && last.text === text) lines[lines.length - 1] = { ...last, times: last.times + 1 };
    else lines.push({ key: `${trace.generation} ${index}`, time, outcome, text, times: 1 });
  }
  return lines;
}
