/** Which part of time the lanes show: it moves along with now, until somebody moves it. */
import type { Lab } from '../lab/lab.ts';

export interface View {
  readonly from: number;
  readonly to: number;
  readonly span: number;
}

/** Without a story: so many windows, so that a window is about a third of the width. */
const WINDOWS = 3.6;
/** The share of the width that is kept for what is still to come: slots of a queue, and in a story words beside the row they are about. */
const FUTURE = 0.15;
const FUTURE_OF_STORY = 0.34;
/** A little of what was before, so that a mark at the very start can be seen whole. */
const BEFORE = 0.02;
/** How far one can zoom in and out, in windows. */
const [LEAST, MOST] = [0.02, 400];

export class Viewer {
  /** As it was chosen; undefined: as it fits. */
  #span: number | undefined;
  /** Where it begins when somebody moved it; undefined: it moves along. */
  #from: number | undefined;
  #about: unknown;

  get isMoved(): boolean {
    return this.#from !== undefined;
  }

  span(lab: Lab): number {
    return this.#span ?? fittingSpan(lab);
  }

  /** It begins with a whole column of pixels, so that marks, which are painted on columns, and the axis agree. */
  view(lab: Lab, columns: number): View {
    this.#forget(lab);
    const span = this.span(lab);
    const future = lab.story === undefined ? FUTURE : FUTURE_OF_STORY;
    const following = Math.max(lab.start - span * BEFORE, lab.now - span * (1 - future));
    const perMs = columns / span;
    const from = Math.floor(this.#including(this.#from ?? following, lab.viewed, span) * perMs) / perMs;
    return { from, to: from + span, span };
  }

  /** A moment that is looked at is always inside. */
  #including(from: number, moment: number | undefined, span: number): number {
    if (moment === undefined) return from;
    if (moment < from) return moment - span * 0.1;
    return moment > from + span ? moment - span * 0.9 : from;
  }

  /** `factor` below 1 shows less time; the moment at `share` of the width stays where it is. */
  zoom(lab: Lab, factor: number, share = 1 - FUTURE): void {
    const { from, span } = this.view(lab, 1e6);
    const { window } = lab.limit;
    const next = Math.min(MOST * window, Math.max(LEAST * window, span * factor));
    this.#span = next;
    if (this.#from !== undefined || share < 0.8) this.#from = from + share * (span - next);
  }

  pan(lab: Lab, ms: number): void {
    const { from, span } = this.view(lab, 1e6);
    const latest = lab.now - span * 0.1;
    this.#from = Math.min(latest, Math.max(lab.start - span * 0.5, from + ms));
  }

  /** Moves along with now again, and shows as much as fits. */
  follow(): void {
    this.#from = undefined;
  }

  fit(): void {
    this.#span = undefined;
    this.#from = undefined;
  }

  /** Another story, another limit and a new start are shown as they fit. */
  #forget(lab: Lab): void {
    const about = `${lab.story?.id} ${lab.limit.window} ${lab.trace.length === 0 ? lab.trace.generation : 'goes on'}`;
    const isNew = lab.trace.length === 0 && about !== this.#about;
    if (isNew && this.#about !== undefined) this.#from = undefined;
    if (isNew && lab.story !== undefined) this.fit();
    if (lab.trace.length === 0) this.#about = about;
  }
}

/** A whole story, or a few windows, however fast they go by. */
function fittingSpan({ story, limit }: Lab): number {
  if (story === undefined) return WINDOWS * limit.window;
  return (story.end - story.start) / (1 - FUTURE_OF_STORY - BEFORE);
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 1.8e6, 3.6e6, 1.08e7, 4.32e7, 8.64e7,
];

/** Moments for the axis: round ones, not more than fit. */
export function ticksOf({ from, to, span }: View, most: number): readonly number[] {
  const step = STEPS.find((size) => span / size <= most) ?? STEPS.at(-1)!;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}
