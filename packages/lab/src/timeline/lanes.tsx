/** The lanes of all rows on one canvas, with one axis above them, so that the same instant can be compared down the rows. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useDraw, useLab } from '../view/frames.ts';
import { LaneView, type LaneViewOptions } from './lane-view.ts';

export function Lanes(props: Omit<LaneViewOptions, 'lab' | 'redraw'>): JSX.Element {
  const { lab, frames } = useLab();
  const { viewer, axis, hasLabels } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const onInstant = useRef(props.onInstant);
  onInstant.current = props.onInstant;
  const view = useMemo(
    () =>
      new LaneView({
        ...{ lab, viewer, axis, hasLabels, redraw: () => frames.redraw() },
        onInstant: (instant) => onInstant.current(instant),
      }),
    [lab, viewer, axis, hasLabels],
  );
  useLayoutEffect(() => view.attach(canvas.current!), [view]);
  useEffect(() => view.follow(), [view, lab.viewed]);
  useDraw(() => view.draw());
  const { gestures } = view;
  return (
    <canvas
      class="lanes"
      ref={canvas}
      role="slider"
      tabIndex={0}
      aria-label="Instant in the time line: arrow keys go from request to request, Enter looks at one"
      aria-valuemin={0}
      aria-valuenow={0}
      aria-valuetext="No request yet"
      onPointerMove={gestures.onPointerMove}
      onPointerDown={gestures.onPointerDown}
      onPointerUp={gestures.onPointerUp}
      onPointerCancel={gestures.onPointerUp}
      onPointerLeave={gestures.onPointerLeave}
      onKeyDown={view.onKey}
      onBlur={() => view.point(undefined)}
    />
  );
}
