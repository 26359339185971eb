/** A row at work: its picture large, what is left, the last requests with their reasons, and how it works. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Row } from '../model/row.ts';
import { RowPicture } from '../rows/row-picture.tsx';
import { statusOf } from '../rows/row-status.ts';
import { Mark } from '../ui/mark.tsx';
import { READABLE, setText, useDraw, useLab } from '../view/frames.ts';
import { count } from '../words/words.ts';
import { RequestLog } from './request-log.tsx';

export function WatchTab({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  const status = useRef<HTMLParagraphElement>(null);
  const counts = useRef<HTMLUListElement>(null);
  useDraw(() => {
    setText(status.current!, statusOf(lab.state(row.id)));
    const { allowed, delayed, denied } = lab.trace.countsUpTo(row.id, lab.client, lab.trace.lastAt(lab.time));
    counts.current!.querySelectorAll('b').forEach((element, index) => {
      setText(element, count([allowed - delayed, delayed, denied][index]!));
    });
  }, READABLE);
  return (
    <>
      <div class="sheet-picture">
        <RowPicture key={row.id} row={row} />
      </div>
      <div class="sheet-numbers">
        <p class="sheet-status numeric" ref={status} />
        <ul class="sheet-counts numeric" ref={counts} aria-label="Requests so far">
          <li>
            <Mark outcome="allowed" /> <b>0</b> allowed{row.kind.shapes ? ' right away' : ''}
          </li>
          <li hidden={!row.kind.shapes}>
            <Mark outcome="delayed" /> <b>0</b> after a wait
          </li>
          <li>
            <Mark outcome="denied" /> <b>0</b> denied
          </li>
        </ul>
        <button type="button" class="button small" onClick={() => void lab.send(1, row.id)}>
          Send to this row alone
        </button>
      </div>
      <RequestLog row={row} />
      {row.kind.steps.length > 0 && (
        <details class="how" open>
          <summary>How it works</summary>
          <ol>
            {row.kind.steps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
          <p>
            Best for: {row.kind.bestFor}. Known from: {row.kind.knownFrom}.
          </p>
        </details>
      )}
    </>
  );
}
