/** The shared time line: a lane for each card, one axis for all of them, so that the same instant can be compared down the lanes. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { currentPalette } from '../canvas/palette.ts';
import { type Surface, surfaceOn } from '../canvas/surface.ts';
import { clockTime, seconds } from '../canvas/words.ts';
import { CARDS } from '../cards/catalog.ts';
import { Mark } from '../cards/count-marks.tsx';
import { describeInstant, type Instant, instantAt, readoutOf } from './instant.ts';
import { axisHeight, layoutFor, paintBackdrop, paintNow, paintPointer } from './lane-backdrop.ts';
import { LanePainter } from './lane-painter.ts';
import { spanFor, type View, viewOf, zoomed } from './view.ts';

export function Timeline(): JSX.Element {
  const { lab, frames } = useLab();
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface | undefined>(undefined);
  const painter = useRef<LanePainter | undefined>(undefined);
  const view = useRef<View>({ from: 0, to: 1, span: 1 });
  const pointer = useRef<number | undefined>(undefined);
  const labels = useRef<HTMLOListElement>(null);
  const slider = useRef<HTMLInputElement>(null);
  const [span, setSpan] = useState(() => spanFor(lab));
  painter.current ??= new LanePainter(lab);
  lab.lanes = painter.current.drawn;

  useLayoutEffect(() => {
    surface.current = surfaceOn(canvas.current!, () => frames.redraw());
    return () => surface.current?.stop();
  }, []);
  const fitting = spanFor(lab);
  useEffect(() => setSpan(fitting), [fitting]);
  useEffect(() => frames.redraw(), [span]);

  useDraw(() => {
    if (!surface.current!.isDue()) return false;
    const { context, width, height, scale } = surface.current!;
    view.current = viewOf(lab, span);
    const layout = layoutFor(width, height, scale, span);
    const palette = currentPalette();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    paintBackdrop(context, palette, lab, view.current, layout, width);
    context.setTransform(1, 0, 0, 1, 0, 0);
    const fromColumn = Math.floor(view.current.from * layout.perMs);
    painter.current!.paint(context, layout, fromColumn, fromColumn + width * scale, Math.round(axisHeight * scale));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paintNow(context, palette, lab, view.current, layout, width);
    const time = pointer.current ?? lab.viewed;
    if (time !== undefined) paintPointer(context, palette, instantOf(time).time, view.current, layout, width);
    return true;
  });
  useDraw(() => {
    const time = pointer.current ?? lab.viewed;
    writeLabels(time === undefined ? { time: lab.time, first: 0, end: 0 } : instantOf(time));
    writeSlider();
  }, READABLE);

  /** A pointer means the request it almost touches. */
  const instantOf = (time: number): Instant => instantAt(lab, time, (8 / surface.current!.width) * view.current.span);

  const writeLabels = (instant: Instant): void => {
    labels.current!.querySelectorAll<HTMLElement>('[data-readout]').forEach((element, lane) => {
      const { text, outcome } = readoutOf(lab, CARDS[lane]!.id, instant);
      if (element.textContent !== text) element.textContent = text;
      const className = `readout ${outcome ?? ''}`;
      if (element.className !== className) element.className = className;
    });
  };

  const writeSlider = (): void => {
    const input = slider.current!;
    input.min = String(lab.start);
    input.max = String(Math.max(lab.now, lab.start + 1));
    if (document.activeElement !== input || lab.viewed === undefined) input.value = String(lab.time);
    input.setAttribute('aria-valuetext', clockTime(lab.time));
  };

  const timeUnder = (event: PointerEvent): number => {
    const { left, width } = canvas.current!.getBoundingClientRect();
    return view.current.from + ((event.clientX - left) / width) * view.current.span;
  };
  const point = (time: number | undefined): void => {
    pointer.current = time;
    frames.redraw();
    canvas.current!.setAttribute('aria-valuetext', describeInstant(lab, time ?? lab.time));
    canvas.current!.setAttribute('aria-valuenow', String(Math.round(time ?? lab.time)));
  };
  const onPointer = (event: PointerEvent): void => {
    const time = timeUnder(event);
    if (event.buttons === 1 && lab.engine.isVirtual) lab.look(time);
    point(time);
  };
  const onKey = (event: KeyboardEvent): void => {
    const next = nextInstant(event.key);
    if (next === undefined) return;
    event.preventDefault();
    point(next === null ? undefined : next);
  };
  /** Arrow keys go from request to request; null takes the pointer away, undefined is a key that means nothing here. */
  const nextInstant = (key: string): number | null | undefined => {
    const { trace } = lab;
    const at = (index: number): number =>
      trace.length === 0 ? lab.time : trace.at[trace.slot(Math.max(trace.first, Math.min(trace.length - 1, index)))]!;
    const here = pointer.current ?? lab.time;
    if (key === 'ArrowLeft') return at(trace.lastAt(here - 0.001));
    if (key === 'ArrowRight') return at(trace.lastAt(here) + 1);
    if (key === 'Home') return at(trace.first);
    if (key === 'End') return at(trace.length - 1);
    return key === 'Escape' ? null : undefined;
  };

  const [less, more] = [zoomed(span, false), zoomed(span, true)];
  return (
    <section class="timeline panel" aria-labelledby="timeline-title">
      <header class="timeline-head">
        <div>
          <h2 id="timeline-title">The same instant, seven answers</h2>
          <p class="card-summary">
            Curves show what was let through within one window, against the limit. Every mark is a request.
          </p>
        </div>
        <ul class="legend" aria-label="Marks">
          <li>
            <Mark outcome="allowed" /> allowed
          </li>
          <li>
            <Mark outcome="delayed" /> delayed to its slot
          </li>
          <li>
            <Mark outcome="denied" /> denied
          </li>
          <li>
            <span class="over" aria-hidden="true" /> above the limit
          </li>
        </ul>
        <div class="zoom">
          <button
            type="button"
            class="icon-button small"
            aria-label="Show less time"
            disabled={less === undefined}
            onClick={() => setSpan(less!)}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M5 12h14M12 5v14" />
            </svg>
          </button>
          <span class="numeric">{seconds(span, 0)}</span>
          <button
            type="button"
            class="icon-button small"
            aria-label="Show more time"
            disabled={more === undefined}
            onClick={() => setSpan(more!)}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M5 12h14" />
            </svg>
          </button>
        </div>
      </header>
      <div class="lanes">
        <ol class="lane-labels" ref={labels}>
          {CARDS.map(({ id, title }) => (
            <li key={id}>
              <span class="lane-title">{title}</span>
              <span class="readout" data-readout={id} />
            </li>
          ))}
        </ol>
        <canvas
          ref={canvas}
          role="slider"
          tabIndex={0}
          aria-label="Instant in the time line: arrow keys go from request to request"
          aria-valuemin={0}
          aria-valuenow={0}
          aria-valuetext="No request yet"
          onPointerMove={onPointer}
          onPointerDown={onPointer}
          onPointerLeave={() => point(undefined)}
          onKeyDown={onKey}
          onBlur={() => point(undefined)}
        />
      </div>
      <div class="scrub">
        <label for="scrub">Look back</label>
        <input
          id="scrub"
          ref={slider}
          type="range"
          step="10"
          disabled={!lab.engine.isVirtual}
          onInput={(event) => lab.look(Number(event.currentTarget.value))}
        />
        <button
          type="button"
          class="button small"
          disabled={lab.viewed === undefined}
          onClick={() => lab.look(undefined)}
        >
          Back to now
        </button>
      </div>
    </section>
  );
}
