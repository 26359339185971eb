/** All rows on one screen, on one time line. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Instant } from '../timeline/instant.ts';
import { Lanes } from '../timeline/lanes.tsx';
import type { Viewer } from '../timeline/viewer.ts';
import { Mark } from '../ui/mark.tsx';
import { twinsOf } from '../verdict/twins.ts';
import { useDraw, useLab } from '../view/frames.ts';
import { LimitForm } from './limit-form.tsx';
import { RowView } from './row-view.tsx';

/** As wide as this there is room for names beside the lanes, and for the limit beside the axis. */
const [ROOM_FOR_NAMES, ROOM_FOR_LIMIT] = [620, 860];
/** How often rows are compared. */
const TWINS_MS = 600;

export interface RowsProps {
  readonly viewer: Viewer;
  readonly opened: string | undefined;
  readonly onOpen: (row: string | undefined) => void;
  /** The row the story speaks of. */
  readonly pointedAt: string | undefined;
  /** What lies above the rows: a caption of a story. */
  readonly children?: ComponentChildren;
}

export function Rows({ viewer, opened, onOpen, pointedAt, children }: RowsProps): JSX.Element {
  const { lab, frames } = useLab();
  const frame = useRef<HTMLElement>(null);
  const instant = useRef<Instant | undefined>(undefined);
  const [axis, setAxis] = useState(() => axisFor(innerWidth));
  useLayoutEffect(() => {
    const sizes = new ResizeObserver(([entry]) => setAxis(axisFor(entry!.contentRect.width)));
    sizes.observe(frame.current!);
    return () => sizes.disconnect();
  }, []);
  const [twins, setTwins] = useState<ReturnType<typeof twinsOf>>({});
  useDraw(() => {
    const found = twinsOf(lab);
    if (JSON.stringify(found) !== JSON.stringify(twins)) setTwins(found);
  }, TWINS_MS);
  return (
    <section class="rows-frame panel" aria-label="Algorithms" ref={frame}>
      <ol class="rows" style={{ '--rows': lab.rows.length, '--axis': `${axis}px` }}>
        <Head hasLimit={lab.story?.rows === undefined} />
        {lab.rows.map((row, place) => (
          <RowView
            key={row.id}
            row={row}
            place={place}
            isOpen={row.id === opened}
            isPointedAt={row.id === pointedAt}
            twin={twins[row.id]}
            instant={() => instant.current}
            onOpen={() => onOpen(row.id === opened ? undefined : row.id)}
          />
        ))}
        <li class="lanes-cell" style={{ gridRow: `1 / span ${lab.rows.length + 1}` }}>
          <Lanes
            viewer={viewer}
            axis={axis}
            hasLabels={axis === NARROW_AXIS}
            onInstant={(shown) => {
              instant.current = shown;
              frames.redraw();
            }}
          />
        </li>
      </ol>
      <Legend />
      {children}
    </section>
  );
}

const [NARROW_AXIS, AXIS, AXIS_AND_LIMIT] = [26, 38, 66];

function axisFor(width: number): number {
  if (width < ROOM_FOR_NAMES) return NARROW_AXIS;
  return width < ROOM_FOR_LIMIT ? AXIS_AND_LIMIT : AXIS;
}

function Head({ hasLimit }: { readonly hasLimit: boolean }): JSX.Element {
  return (
    <li class="rows-head">
      <div class="rows-limit">{hasLimit && <LimitForm />}</div>
      <div class="rows-measures" aria-hidden="true">
        <span class="allowed-cell">allowed</span>
        <span class="worst-cell" title="The most units in any one window, against the limit">
          worst window
        </span>
        <span
          class="wait-cell"
          title="The longest that a request had to wait: for its slot, or until it would be allowed"
        >
          longest wait
        </span>
      </div>
    </li>
  );
}

function Legend(): JSX.Element {
  return (
    <ul class="legend rows-legend" aria-label="Marks">
      <li>
        <Mark outcome="allowed" /> allowed
      </li>
      <li>
        <Mark outcome="denied" /> denied
      </li>
      <li>
        <Mark outcome="delayed" /> acts after a wait
      </li>
      <li>
        <span class="over" aria-hidden="true" /> more than the limit in one window
      </li>
    </ul>
  );
}
