/** The canvas of the lanes: which part of time is on it, what is pointed at, and how all of it is painted. */
import { currentPalette } from '../canvas/palette.ts';
import { type Surface, surfaceOn } from '../canvas/surface.ts';
import type { Lab } from '../lab/lab.ts';
import { setAttribute } from '../view/frames.ts';
import { Gestures } from './gestures.ts';
import { describeInstant, type Instant, instantAt, instantByKey } from './instant.ts';
import { paintBackdrop, paintNow, paintPointer, paintUpcoming, type Stage } from './lane-backdrop.ts';
import { LanePainter } from './lane-painter.ts';
import { paintSlots } from './slot-painter.ts';
import type { View, Viewer } from './viewer.ts';

const LABEL_HEIGHT = 19;
/** A pointer means the request it almost touches, in pixels. */
const SNAP = 8;

export interface LaneViewOptions {
  readonly lab: Lab;
  readonly viewer: Viewer;
  /** How high the axis is. */
  readonly axis: number;
  /** Whether names lie in the lanes, above the curves. */
  readonly hasLabels: boolean;
  redraw(): void;
  /** Called with the instant that is pointed at or looked at; undefined: none. */
  onInstant(instant: Instant | undefined): void;
}

export class LaneView {
  readonly gestures: Gestures;
  readonly #options: LaneViewOptions;
  readonly #painter: LanePainter;
  #surface: Surface | undefined;
  #view: View = { from: 0, to: 1, span: 1 };
  #pointer: number | undefined;

  constructor(options: LaneViewOptions) {
    const { lab, viewer, axis, redraw } = options;
    this.#options = options;
    this.#painter = new LanePainter(lab);
    const point = (time: number | undefined): void => this.point(time);
    this.gestures = new Gestures({ lab, viewer, axis, redraw, point, view: () => this.#view });
  }

  /** Begins to listen and to be painted; what it gives back ends that. */
  attach(canvas: HTMLCanvasElement): () => void {
    const surface = surfaceOn(canvas, () => this.#options.redraw());
    this.#surface = surface;
    // Preact's own listeners are passive, and a wheel that zooms must not scroll as well.
    canvas.addEventListener('wheel', this.gestures.onWheel, { passive: false });
    return () => {
      surface.stop();
      canvas.removeEventListener('wheel', this.gestures.onWheel);
    };
  }

  point(time: number | undefined): void {
    const { lab, redraw, onInstant } = this.#options;
    this.#pointer = time;
    redraw();
    const shown = time ?? lab.viewed;
    onInstant(shown === undefined ? undefined : this.#instantOf(shown));
    if (this.#surface === undefined) return;
    setAttribute(this.#surface.element, 'aria-valuetext', describeInstant(lab, shown ?? lab.time));
    setAttribute(this.#surface.element, 'aria-valuenow', String(Math.round(shown ?? lab.time)));
  }

  /** What is looked at has changed. */
  follow(): void {
    this.point(this.#pointer);
  }

  readonly onKey = (event: KeyboardEvent): void => {
    const { lab } = this.#options;
    const next = instantByKey(lab, event.key, this.#pointer ?? lab.time);
    if (event.key === 'Enter' && this.#pointer !== undefined) lab.look(this.#pointer);
    if (next === undefined) return;
    this.point(next ?? undefined);
    // Escape means more than that nothing is pointed at: whoever looks back comes back to now.
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** False: nobody can see it now. */
  draw(): boolean {
    const surface = this.#surface!;
    if (!surface.isDue()) return false;
    const stage = this.#stageOn(surface);
    this.#view = stage.view;
    this.#paint(stage, surface.scale);
    const { lab } = this.#options;
    lab.lanes = this.#painter.drawn;
    lab.shown = stage.view;
    return true;
  }

  #instantOf(time: number): Instant {
    return instantAt(this.#options.lab, time, (SNAP / Math.max(1, this.#surface?.width ?? 1)) * this.#view.span);
  }

  #stageOn({ context, width, height, scale }: Surface): Stage {
    const { lab, viewer, axis, hasLabels } = this.#options;
    const view = viewer.view(lab, width * scale);
    const layout = {
      lanes: lab.rows.length,
      laneHeight: (height - axis) / lab.rows.length,
      labelHeight: hasLabels ? LABEL_HEIGHT : 0,
      scale,
      perMs: (width * scale) / view.span,
      clients: lab.clients.length,
    };
    return { context, palette: currentPalette(), lab, view, layout, width, axis };
  }

  #paint(stage: Stage, scale: number): void {
    const { context, view, layout, width, axis, lab } = stage;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, axis + layout.laneHeight * layout.lanes + 1);
    paintBackdrop(stage);
    paintUpcoming(stage);
    context.setTransform(1, 0, 0, 1, 0, 0);
    const fromColumn = Math.round(view.from * layout.perMs);
    this.#painter.paint(context, layout, fromColumn, fromColumn + width * scale, Math.round(axis * scale));
    context.setTransform(scale, 0, 0, scale, 0, axis * scale);
    paintSlots(context, stage.palette, lab, view, layout, width);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paintNow(stage);
    if (lab.viewed !== undefined) paintPointer(stage, lab.viewed, true);
    if (this.#pointer !== undefined) paintPointer(stage, this.#instantOf(this.#pointer).time, false);
  }
}
