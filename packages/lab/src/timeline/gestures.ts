/** What a pointer does in the lanes: on the axis it looks back, in the lanes it moves them; a wheel and two fingers zoom. */
import type { Lab } from '../lab/lab.ts';
import type { View, Viewer } from './viewer.ts';

export interface GestureOptions {
  readonly lab: Lab;
  readonly viewer: Viewer;
  readonly axis: number;
  view(): View;
  /** What is pointed at; undefined: nothing. */
  point(time: number | undefined): void;
  redraw(): void;
}

/** Less than this is a click, in pixels. */
const SLOP = 4;

type Doing = 'nothing' | 'looking' | 'moving';

export class Gestures {
  readonly #options: GestureOptions;
  readonly #pointers = new Map<number, { readonly x: number; readonly y: number }>();
  #doing: Doing = 'nothing';
  #startX = 0;
  #lastX = 0;

  constructor(options: GestureOptions) {
    this.#options = options;
  }

  readonly onPointerDown = (event: PointerEvent): void => {
    const { x, y } = placeOf(event);
    this.#pointers.set(event.pointerId, { x, y });
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.#doing = y < this.#options.axis ? 'looking' : 'nothing';
    [this.#startX, this.#lastX] = [x, x];
    if (this.#doing === 'looking') this.#look(event);
  };

  readonly onPointerMove = (event: PointerEvent): void => {
    const { x, y } = placeOf(event);
    const before = this.#pointers.get(event.pointerId);
    if (before !== undefined) this.#pointers.set(event.pointerId, { x, y });
    if (this.#pointers.size === 2 && before !== undefined) {
      this.#pinch(event, before, { x, y });
      return;
    }
    if (before !== undefined && this.#doing === 'nothing' && Math.abs(x - this.#startX) > SLOP) this.#doing = 'moving';
    if (before !== undefined && this.#doing === 'looking') this.#look(event);
    else if (before !== undefined && this.#doing === 'moving') this.#move(event, x);
    else this.#options.point(this.#timeAt(event));
  };

  readonly onPointerUp = (event: PointerEvent): void => {
    this.#pointers.delete(event.pointerId);
    this.#doing = 'nothing';
  };

  readonly onPointerLeave = (): void => this.#options.point(undefined);

  /** Where the page itself can be scrolled, a wheel scrolls it, unless Ctrl is held, as it is by a pinch on a touchpad. */
  readonly onWheel = (event: WheelEvent): void => {
    const { lab, viewer, redraw, view } = this.#options;
    const { scrollHeight, clientHeight } = document.documentElement;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      viewer.pan(lab, (event.deltaX / widthOf(event)) * view().span);
    } else if (event.ctrlKey || event.metaKey || scrollHeight <= clientHeight + 1) {
      viewer.zoom(lab, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 200), placeOf(event).x / widthOf(event));
    } else return;
    event.preventDefault();
    redraw();
  };

  #timeAt(event: MouseEvent): number {
    const { from, span } = this.#options.view();
    return from + (placeOf(event).x / widthOf(event)) * span;
  }

  #look(event: MouseEvent): void {
    const { lab, point } = this.#options;
    if (!lab.engine.isVirtual) return;
    lab.look(this.#timeAt(event));
    point(undefined);
  }

  #move(event: MouseEvent, x: number): void {
    const { lab, viewer, view, point, redraw } = this.#options;
    viewer.pan(lab, ((this.#lastX - x) / widthOf(event)) * view().span);
    this.#lastX = x;
    point(undefined);
    redraw();
  }

  #pinch(
    event: PointerEvent,
    before: { readonly x: number; readonly y: number },
    now: { readonly x: number; readonly y: number },
  ): void {
    const { lab, viewer, redraw } = this.#options;
    const [, other] = [...this.#pointers].find(([id]) => id !== event.pointerId)!;
    const distance = (point: { readonly x: number; readonly y: number }): number =>
      Math.max(20, Math.hypot(point.x - other.x, point.y - other.y));
    viewer.zoom(lab, distance(before) / distance(now), (now.x + other.x) / 2 / widthOf(event));
    redraw();
  }
}

function placeOf(event: MouseEvent): { readonly x: number; readonly y: number } {
  const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

function widthOf(event: MouseEvent): number {
  return (event.currentTarget as Element).getBoundingClientRect().width || 1;
}
