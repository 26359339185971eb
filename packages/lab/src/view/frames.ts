/** One loop for everything that moves: time first, then whoever draws, and only when there is something new to draw. */
import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { paletteVersion } from '../canvas/palette.ts';
import type { Lab } from '../lab/lab.ts';

/** False: not now, ask again with the next frame. */
type Draw = () => unknown;

interface Drawing {
  readonly draw: Draw;
  /** Milliseconds that must lie between two drawings. */
  readonly every: number;
  drawnAt: number;
  isStale: boolean;
}

/** Words and numbers: more often nobody can read them, and each change of a text makes the browser lay the page out again. */
export const READABLE = 100;

export class Frames {
  /** Milliseconds between the last frames, for measurements. */
  readonly recent = new Float64Array(1200);
  count = 0;
  readonly #lab: Lab;
  readonly #drawings = new Set<Drawing>();
  #drawn = '';
  #request = 0;
  #previous: number | undefined;
  #busy = false;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  start(): () => void {
    this.#request = requestAnimationFrame(this.#frame);
    return () => cancelAnimationFrame(this.#request);
  }

  add(draw: Draw, every: number): () => void {
    const drawing = { draw, every, drawnAt: Number.NEGATIVE_INFINITY, isStale: true };
    this.#drawings.add(drawing);
    return () => this.#drawings.delete(drawing);
  }

  /** Something changed that the lab does not know of. */
  redraw(): void {
    this.#drawn = '';
  }

  /** The answers of the browser's engine come as microtasks, so they are there before this frame is painted. */
  readonly #frame = (wall: number): void => {
    this.#request = requestAnimationFrame(this.#frame);
    const elapsed = this.#previous === undefined ? 0 : wall - this.#previous;
    this.#previous = wall;
    this.recent[this.count % this.recent.length] = elapsed;
    this.count += 1;
    if (this.#busy) return;
    this.#busy = true;
    void this.#lab.frame(elapsed).finally(() => {
      this.#busy = false;
      this.#draw(wall);
    });
  };

  #draw(wall: number): void {
    const { time, trace } = this.#lab;
    const seen = `${time} ${trace.length} ${trace.generation} ${this.#lab.client} ${paletteVersion()}`;
    const isNew = seen !== this.#drawn;
    this.#drawn = seen;
    for (const drawing of this.#drawings) {
      drawing.isStale ||= isNew;
      if (!drawing.isStale || wall - drawing.drawnAt < drawing.every) continue;
      drawing.isStale = drawing.draw() === false;
      if (!drawing.isStale) drawing.drawnAt = wall;
    }
  }
}

export const LabContext = createContext<{ readonly lab: Lab; readonly frames: Frames } | undefined>(undefined);

export function useLab(): { readonly lab: Lab; readonly frames: Frames } {
  return useContext(LabContext)!;
}

/** Draws with each frame that has something new, at most every so many milliseconds, and after each rendering. */
export function useDraw(draw: Draw, every = 0): void {
  const { frames } = useLab();
  const latest = useRef(draw);
  latest.current = draw;
  // Before the frame is painted, and gone at once when the element is: a frame never meets half a component.
  useLayoutEffect(() => frames.add(() => latest.current(), every), [frames]);
  useLayoutEffect(() => frames.redraw());
}

/** Writes only what is new: whatever is written makes the browser lay the page out again. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element: Element, name: string, value: string | undefined): void {
  if ((element.getAttribute(name) ?? undefined) === value) return;
  if (value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value);
}
