/** How much time the lanes show. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { IconButton } from '../ui/icons.tsx';
import { READABLE, setText, useDraw, useLab } from '../view/frames.ts';
import { seconds } from '../words/words.ts';
import type { Viewer } from './viewer.ts';

/** One step of the buttons. */
const STEP = 1.6;

export function ViewTools({ viewer }: { readonly viewer: Viewer }): JSX.Element {
  const { lab, frames } = useLab();
  const text = useRef<HTMLSpanElement>(null);
  const [isMoved, setMoved] = useState(false);
  useDraw(() => {
    setText(text.current!, spanText(viewer.span(lab)));
    if (viewer.isMoved !== isMoved) setMoved(viewer.isMoved);
  }, READABLE);
  const zoom = (factor: number): void => {
    viewer.zoom(lab, factor);
    frames.redraw();
  };
  return (
    <span class="view-tools">
      <IconButton class="small" icon="plus" label="Show less time" onClick={() => zoom(1 / STEP)} />
      <span class="numeric" ref={text} data-span />
      <IconButton class="small" icon="minus" label="Show more time" onClick={() => zoom(STEP)} />
      {isMoved && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            viewer.follow();
            frames.redraw();
          }}
        >
          Follow now
        </button>
      )}
    </span>
  );
}

function spanText(ms: number): string {
  return seconds(ms, ms < 10_000 ? 1 : 0).replace('.0 ', ' ');
}
