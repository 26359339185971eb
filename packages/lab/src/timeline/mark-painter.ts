/** The marks of the lanes, on tiles: each at its instant, as a shape where there is room and as part of a bar where there is not. */
import { currentPalette, type Palette } from '../canvas/palette.ts';
import { disc, cross as drawCross, ring } from '../canvas/shapes.ts';
import type { Lab } from '../lab/lab.ts';
import { type Counts, noCounts, type Outcome } from '../trace/answers.ts';
import { type LaneLayout, marksZone, PITCH, rowsIn } from './lane-layout.ts';
import { Piles, type Strip } from './piles.ts';

/** How far from its instant a shape reaches, in CSS pixels. */
const RADIUS = 3;
/** A bar of so many requests is as high as can be, until there is one of more. */
const LEAST_FULL = 4;

/** A piece of the lanes to paint on; `left` is its first column, all in device pixels. */
export interface Canvas {
  readonly context: CanvasRenderingContext2D;
  readonly left: number;
  readonly width: number;
}

interface Bar {
  readonly bin: number;
  /** The columns of its first and its last request. */
  readonly from: number;
  to: number;
  readonly indexes: number[];
}

export class MarkPainter {
  readonly #lab: Lab;
  readonly #layout: LaneLayout;
  readonly #piles: Piles[];
  /** By client: how many requests the bin has that the last one is in. */
  readonly #inBin: { bin: number; count: number }[];
  #full = LEAST_FULL;
  #dirty: Strip | undefined;

  constructor(lab: Lab, layout: LaneLayout) {
    this.#lab = lab;
    this.#layout = layout;
    const rows = rowsIn(marksZone(layout, 0, 0));
    const clients = Array.from({ length: layout.clients });
    this.#piles = clients.map(() => new Piles(layout.scale, rows));
    this.#inBin = clients.map(() => ({ bin: Number.NaN, count: 0 }));
  }

  columnOf(time: number): number {
    return Math.floor(time * this.#layout.perMs);
  }

  /** Finds a place for the next arrival. */
  add(index: number): void {
    const { trace } = this.#lab;
    const slot = trace.slot(index);
    const x = this.columnOf(trace.at[slot]!);
    const client = trace.client[slot]!;
    this.#grow(client, x);
    const piles = this.#piles[client]!;
    this.#dirtied(piles.add(slot, x));
  }

  /** What has to be painted again since this was last asked. */
  takeDirty(): Strip | undefined {
    const dirty = this.#dirty;
    this.#dirty = undefined;
    return dirty;
  }

  #dirtied({ from, to }: Strip): void {
    const before = this.#dirty;
    this.#dirty =
      before === undefined ? { from, to } : { from: Math.min(before.from, from), to: Math.max(before.to, to) };
  }

  /** Bars grow in proportion: when one is higher than can be, all of them are painted again, half as high. */
  #grow(client: number, x: number): void {
    const bin = this.#piles[client]!.binOf(x);
    const current = this.#inBin[client]!;
    if (current.bin !== bin) Object.assign(current, { bin, count: 0 });
    current.count += 1;
    if (current.count <= this.#full) return;
    this.#full *= 2;
    this.#dirtied({ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY });
  }

  /** Paints a strip of all lanes anew, as far as it lies on this canvas, up to but not arrival number `end`. */
  paint({ context, left, width }: Canvas, strip: Strip, end: number): void {
    const from = Math.max(left, Math.floor(strip.from));
    const to = Math.min(left + width, Math.ceil(strip.to));
    if (from >= to) return;
    context.save();
    context.translate(-left, 0);
    context.beginPath();
    this.#lab.rows.forEach((_, lane) => {
      this.#clear(context, lane, from, to - from);
    });
    context.clip();
    for (let client = 0; client < this.#layout.clients; client += 1) this.#paintClient(context, client, from, to, end);
    context.restore();
  }

  #clear(context: CanvasRenderingContext2D, lane: number, x: number, width: number): void {
    const { scale, laneHeight } = this.#layout;
    const top = marksZone(this.#layout, lane, 0).top;
    const y = Math.round(top * scale);
    const height = Math.round((lane + 1) * laneHeight * scale) - y;
    context.clearRect(x, y, width, height);
    context.rect(x, y, width, height);
  }

  #paintClient(context: CanvasRenderingContext2D, client: number, from: number, to: number, end: number): void {
    const { trace } = this.#lab;
    const piles = this.#piles[client]!;
    const margin = 2 * RADIUS * this.#layout.scale + 2 * piles.binWidth;
    const bars: Bar[] = [];
    const palette = currentPalette();
    const first = Math.max(trace.first, trace.lastAt((from - margin) / this.#layout.perMs));
    for (let index = first; index < end; index += 1) {
      const slot = trace.slot(index);
      const x = this.columnOf(trace.at[slot]!);
      if (x > to + margin) break;
      if (trace.client[slot] !== client) continue;
      const level = piles.levelOf(slot, x);
      if (level === undefined) addTo(bars, piles.binOf(x), x, index);
      else this.#paintShapes(context, palette, client, index, x, level);
    }
    this.#lab.rows.forEach(({ id }, lane) => {
      bars.forEach((bar, at) => {
        const isAlone = !isNext(bars[at - 1], bar) && !isNext(bar, bars[at + 1]);
        this.#paintBar(context, palette, marksZone(this.#layout, lane, client), id, bar, isAlone);
      });
    });
  }

  #paintShapes(
    context: CanvasRenderingContext2D,
    palette: Palette,
    client: number,
    index: number,
    x: number,
    level: number,
  ): void {
    const { scale } = this.#layout;
    this.#lab.rows.forEach(({ id }, lane) => {
      const outcome = this.#lab.trace.outcome(id, index);
      if (outcome === undefined) return;
      const { top, height } = marksZone(this.#layout, lane, client);
      const y = (top + height - 4 - level * PITCH) * scale;
      paintShape(context, palette, outcome, x + 0.5, y, scale);
    });
  }

  #paintBar(
    context: CanvasRenderingContext2D,
    palette: Palette,
    { top, height }: { top: number; height: number },
    id: string,
    { from, to, indexes }: Bar,
    isAlone: boolean,
  ): void {
    const { scale } = this.#layout;
    const counts: Counts = noCounts();
    for (const index of indexes) {
      const outcome = this.#lab.trace.outcome(id, index);
      if (outcome !== undefined) counts[outcome] += 1;
    }
    // A bar by itself may be wider, as its middle is what counts.
    const width = (isAlone ? 6 : 2) * scale;
    const x = (from + to) / 2 + 0.5 - width / 2;
    let y = (top + height) * scale;
    for (const outcome of ['allowed', 'delayed', 'denied'] as const) {
      if (counts[outcome] === 0) continue;
      const size = Math.max(2 * scale, ((counts[outcome] / this.#full) * height * scale) | 0);
      context.fillStyle = palette[outcome];
      context.fillRect(x, y - size, width, size);
      y -= size;
    }
  }
}

function addTo(bars: Bar[], bin: number, x: number, index: number): void {
  const last = bars.at(-1);
  if (last?.bin !== bin) bars.push({ bin, from: x, to: x, indexes: [index] });
  else {
    last.to = x;
    last.indexes.push(index);
  }
}

function isNext(one: Bar | undefined, other: Bar | undefined): boolean {
  return one !== undefined && other !== undefined && other.bin - one.bin <= 3;
}

/** A disc was allowed, a cross denied, and a ring was allowed to act later. */
export function paintShape(
  context: CanvasRenderingContext2D,
  palette: Palette,
  outcome: Outcome,
  x: number,
  y: number,
  scale: number,
): void {
  if (outcome === 'allowed') {
    context.fillStyle = palette.allowed;
    disc(context, x, y, 2.9 * scale);
    return;
  }
  context.strokeStyle = palette[outcome];
  context.lineWidth = 1.5 * scale;
  context.lineCap = 'round';
  if (outcome === 'denied') drawCross(context, x, y, 2.3 * scale);
  else ring(context, x, y, 2.3 * scale);
}
