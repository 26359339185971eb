/** Words of a story beside the row they are about, with what is asked there. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useDraw, useLab } from '../view/frames.ts';
import { Choices } from './caption.tsx';

/** Beside now, in CSS pixels. */
const GAP = 14;
const WIDTH = 250;

export function Callout(): JSX.Element {
  const { lab } = useLab();
  const root = useRef<HTMLDivElement>(null);
  const player = lab.player!;
  const place = lab.rows.findIndex(({ id }) => id === player.said.row);
  const isBelow = place > (lab.rows.length - 1) / 2;
  // To the right of now, where nothing has happened yet; where there is no room for it, as far right as can be.
  useDraw(() => {
    const lanes = root.current!.parentElement!.querySelector('.lanes')!;
    if (lab.shown === undefined) return;
    const left = (lanes as HTMLElement).offsetLeft;
    const width = lanes.clientWidth;
    const nowX = ((lab.now - lab.shown.from) / lab.shown.span) * width;
    const x = `${Math.round(left + Math.max(0, Math.min(nowX + GAP, width - WIDTH - 4)))}px`;
    const axis = root.current!.parentElement!.querySelector('.rows-head')!.clientHeight;
    const row = (lanes.clientHeight - axis) / lab.rows.length;
    const y = `${Math.round(axis + (place + (isBelow ? 0.9 : 0.12)) * row)}px`;
    if (root.current!.style.left !== x) root.current!.style.left = x;
    if (root.current!.style.top !== y) root.current!.style.top = y;
  });
  return (
    <div
      class={`callout ${isBelow ? 'upwards' : ''}`}
      style={{ width: `${WIDTH}px` }}
      ref={root}
      data-callout
      role="note"
    >
      <p aria-live="polite">{player.said.text}</p>
      {player.asked !== undefined && <Choices />}
      {player.isHeld && (
        <span class="callout-time" aria-hidden="true">
          <span
            key={player.place.beat}
            style={{ animationDuration: `${player.heldMs}ms`, animationPlayState: lab.playing ? 'running' : 'paused' }}
          />
        </span>
      )}
    </div>
  );
}
