/** One algorithm in one line: its name and what is left, its state as a picture, its lane, and how it did. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Row } from '../model/row.ts';
import { type Instant, readoutOf } from '../timeline/instant.ts';
import { IconButton } from '../ui/icons.tsx';
import { READABLE, setAttribute, setText, useDraw, useLab } from '../view/frames.ts';
import { isStill } from '../view/motion.ts';
import { RowNumbers } from './row-numbers.tsx';
import { RowPicture } from './row-picture.tsx';
import { statusOf } from './row-status.ts';

/** How long a row is tinted after a denial, in milliseconds of real time. */
const FLASH_MS = 220;

export interface RowViewProps {
  readonly row: Row;
  readonly place: number;
  readonly isOpen: boolean;
  /** Whether the story speaks of it. */
  readonly isPointedAt: boolean;
  /** The row it has the same answers as so far, if any. */
  readonly twin: string | undefined;
  readonly instant: () => Instant | undefined;
  readonly onOpen: () => void;
}

export function RowView(props: RowViewProps): JSX.Element {
  const { row, place, isOpen, isPointedAt, twin, instant, onOpen } = props;
  const { lab } = useLab();
  const root = useRef<HTMLLIElement>(null);
  const status = useRef<HTMLSpanElement>(null);
  useDraw(() => {
    const shown = instant();
    const { text, outcome } =
      shown === undefined ? { text: statusOf(lab.state(row.id)), outcome: undefined } : readoutOf(lab, row, shown);
    setText(status.current!, text);
    setAttribute(status.current!, 'data-outcome', outcome);
    setAttribute(root.current!, 'data-remaining', String(lab.state(row.id).remaining));
  }, READABLE);
  useDraw(() => {
    const since = lab.time - lastDenial(lab.trace, row.id, lab.time);
    const isFlashing = !isStill() && since < FLASH_MS * lab.rate;
    setAttribute(root.current!, 'data-flash', isFlashing ? 'true' : undefined);
  });
  return (
    <li
      class={`row ${isOpen ? 'open' : ''} ${isPointedAt ? 'pointed-at' : ''}`}
      style={{ gridRow: place + 2 }}
      data-row={row.id}
      ref={root}
    >
      <div class="row-name">
        <button
          type="button"
          class="row-open"
          aria-expanded={isOpen}
          onClick={onOpen}
          title={`${row.title}: ${row.summary}`}
        >
          <span class="row-title">
            <span class="long">{row.title}</span>
            <span class="short">{row.short}</span>
            {row.deviates && <span class="tag">own numbers</span>}
          </span>
          <span class="row-note">{twin === undefined ? row.note : `Same answers as ${twin}`}</span>
          <span class="row-status numeric" ref={status} data-status />
        </button>
        <IconButton
          class="small row-send"
          icon="send"
          label={`Send to ${row.title} alone`}
          onClick={() => void lab.send(1, row.id)}
        />
      </div>
      <RowPicture row={row} />
      <RowNumbers row={row} />
    </li>
  );
}

function lastDenial(trace: ReturnType<typeof useLab>['lab']['trace'], id: string, time: number): number {
  const last = trace.lastAt(time);
  return last >= 0 && trace.outcome(id, last) === 'denied' ? trace.at[trace.slot(last)]! : Number.NEGATIVE_INFINITY;
}
