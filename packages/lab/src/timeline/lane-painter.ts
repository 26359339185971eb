/**
 * The lanes as pixels. What has happened does not change, so it is painted once, on tiles that are then only moved: a frame costs the marks
 * that are new, not those that can be seen. Time maps to whole columns of device pixels, counted from time 0.
 */

import { currentPalette, type Palette, paletteVersion } from '../canvas/palette.ts';
import { diamond, disc, cross as drawCross, line, ring } from '../canvas/shapes.ts';
import { CARD_IDS, type CardId, limitOf, spanOf } from '../cards/catalog.ts';
import type { Lab } from '../engine/lab.ts';
import { type Counts, MAX_CLIENTS, noCounts, type Outcome, TRACE_CAPACITY } from '../engine/trace.ts';

const TILE = 512;
/** Curves reach up to this many times the limit. */
const HIGHEST = 2;
/** How far from its instant a mark can reach. */
const MARGIN = 26;
/** From one mark to the one above it, in CSS pixels. */
const PITCH = 6;
/** Marks closer than this, in CSS pixels, are put above one another. */
const CLOSE = 5;
/** How many times as wide a heap may grow before the next one begins. */
const MOST_COLUMNS = 2;

export interface LaneLayout {
  readonly laneHeight: number;
  /** Kept free at the top of each lane, for its name where there is no room beside it. */
  readonly labelHeight: number;
  /** Device pixels to a CSS pixel. */
  readonly scale: number;
  /** Device pixels to a millisecond. */
  readonly perMs: number;
}

interface Tile {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  number: number;
  /** Columns of the curves that are painted, from the tile's left end. */
  columns: number;
}

export class LanePainter {
  /** Marks painted since everything was last painted anew, by card: what a reader of the lanes can count. */
  readonly drawn = Object.fromEntries(CARD_IDS.map((id) => [id, noCounts()])) as Record<CardId, Counts>;
  readonly #lab: Lab;
  #layout: LaneLayout = { laneHeight: 0, labelHeight: 0, scale: 1, perMs: 0 };
  #key = '';
  #tiles = new Map<number, Tile>();
  #spare: Tile[] = [];
  /** Arrivals that were painted, up to here. */
  #painted = 0;
  readonly #levels = new Uint8Array(TRACE_CAPACITY);
  /** By client: where the heap stands that the next mark may have to join, and how many are on it. */
  readonly #heaps = Array.from({ length: MAX_CLIENTS }, () => ({ x: Number.NEGATIVE_INFINITY, level: 0 }));

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** Paints what is new and copies the lanes between two columns onto a canvas, at `top` device pixels. */
  paint(target: CanvasRenderingContext2D, layout: LaneLayout, fromColumn: number, toColumn: number, top: number): void {
    this.#begin(layout);
    const [first, last] = [Math.floor(fromColumn / TILE), Math.floor(toColumn / TILE)];
    this.#recycle(first, last);
    for (let number = first; number <= last; number += 1)
      this.#addCurves(this.#tiles.get(number) ?? this.#make(number));
    this.#addMarks();
    for (const { number, canvas } of this.#tiles.values()) target.drawImage(canvas, number * TILE - fromColumn, top);
  }

  columnOf(time: number): number {
    return Math.floor(time * this.#layout.perMs);
  }

  /** Starts anew when anything changes that the painted tiles depend on. */
  #begin(layout: LaneLayout): void {
    const { generation } = this.#lab.trace;
    const key = `${Object.values(layout).join()} ${generation} ${paletteVersion()} ${this.#lab.clients.length}`;
    if (key === this.#key) return;
    this.#key = key;
    this.#layout = layout;
    this.#spare = [];
    this.#tiles.clear();
    this.#painted = this.#lab.trace.first;
    for (const heap of this.#heaps) heap.x = Number.NEGATIVE_INFINITY;
    for (const counts of Object.values(this.drawn)) Object.assign(counts, noCounts());
  }

  #recycle(first: number, last: number): void {
    for (const [number, tile] of this.#tiles) {
      if (number >= first && number <= last) continue;
      this.#tiles.delete(number);
      this.#spare.push(tile);
    }
  }

  #make(number: number): Tile {
    const height = Math.round(this.#layout.laneHeight * CARD_IDS.length * this.#layout.scale);
    const tile = this.#spare.pop() ?? emptyTile(height);
    tile.number = number;
    tile.columns = 0;
    tile.context.clearRect(0, 0, TILE, height);
    this.#tiles.set(number, tile);
    this.#addCurves(tile);
    this.#repaint(tile);
    return tile;
  }

  /** Marks of arrivals that were painted before this tile was there. */
  #repaint(tile: Tile): void {
    const { trace } = this.#lab;
    const margin = MARGIN * this.#layout.scale;
    const [from, to] = [
      (tile.number * TILE - margin) / this.#layout.perMs,
      ((tile.number + 1) * TILE + margin) / this.#layout.perMs,
    ];
    const earliest = from - this.#longestDelay();
    for (let index = Math.max(trace.first, trace.lastAt(earliest)); index < this.#painted; index += 1) {
      if (trace.at[trace.slot(index)]! > to) return;
      for (const [lane, id] of CARD_IDS.entries()) this.#mark(tile, lane, id, index);
    }
  }

  #longestDelay(): number {
    return spanOf(this.#lab.policies['leaky-bucket-shaping']);
  }

  #addMarks(): void {
    const { trace } = this.#lab;
    this.#painted = Math.max(this.#painted, trace.first);
    for (; this.#painted < trace.length; this.#painted += 1) {
      const index = this.#painted;
      this.#stack(index);
      for (const [lane, id] of CARD_IDS.entries()) {
        this.#eachTile(id, index, (tile) => this.#mark(tile, lane, id, index));
        const isSeen = this.#tiles.has(Math.floor(this.columnOf(trace.at[trace.slot(index)]!) / TILE));
        if (isSeen) this.drawn[id][trace.outcome(id, index)] += 1;
      }
    }
  }

  /** The tiles a mark lies on: those of its arrival, of its slot and between. */
  #eachTile(id: CardId, index: number, visit: (tile: Tile) => void): void {
    const { trace } = this.#lab;
    const slot = trace.slot(index);
    const margin = MARGIN * this.#layout.scale;
    const at = trace.at[slot]!;
    const first = Math.floor((this.columnOf(at) - margin) / TILE);
    const last = Math.floor((this.columnOf(at + trace.cards[id].delay[slot]!) + margin) / TILE);
    for (let number = first; number <= last; number += 1) {
      const tile = this.#tiles.get(number);
      if (tile !== undefined) visit(tile);
    }
  }

  /** How high a mark stands on those it would otherwise cover. */
  #stack(index: number): void {
    const { trace } = this.#lab;
    const x = this.columnOf(trace.at[trace.slot(index)]!);
    const heap = this.#heaps[trace.client[trace.slot(index)]!]!;
    // A heap that is higher than its lane grows wider; one that never ends is many.
    const columns = Math.min(MOST_COLUMNS, Math.floor(heap.level / this.#rowsOf(this.#marksZone(0, 0).height)));
    if (x - heap.x < (CLOSE + columns * PITCH) * this.#layout.scale) heap.level += 1;
    else Object.assign(heap, { x, level: 0 });
    this.#levels[trace.slot(index)] = heap.level % 250;
  }

  /** How many marks stand above one another. */
  #rowsOf(height: number): number {
    return Math.max(1, Math.floor((height - 2) / PITCH));
  }

  #mark(tile: Tile, lane: number, id: CardId, index: number): void {
    const { trace, clients } = this.#lab;
    const { scale } = this.#layout;
    const slot = trace.slot(index);
    const outcome = trace.outcome(id, index);
    const { bottom, height } = this.#marksZone(lane, clients.length > 1 ? trace.client[slot]! : 0);
    // Slots have the uppermost row to themselves.
    const rows = Math.max(1, this.#rowsOf(height) - (id === 'leaky-bucket-shaping' ? 1 : 0));
    const level = this.#levels[slot]!;
    const x = this.columnOf(trace.at[slot]!) - tile.number * TILE + 0.5 + swarm(level, rows) * scale;
    const y = (bottom - 4 - (level % rows) * PITCH) * scale;
    const palette = currentPalette();
    if (outcome === 'delayed') {
      const actsX = this.columnOf(trace.at[slot]! + trace.cards[id].delay[slot]!) - tile.number * TILE + 0.5;
      paintDelayed(tile.context, palette, x, y, actsX, (bottom - height + 3) * scale, scale);
    } else paintMark(tile.context, palette, outcome, x, y, scale);
  }

  #marksZone(lane: number, client: number): { bottom: number; height: number } {
    const { laneHeight, labelHeight } = this.#layout;
    const rows = Math.min(MAX_CLIENTS, this.#lab.clients.length);
    const height = ((laneHeight - labelHeight) * 0.44) / rows;
    return { bottom: (lane + 1) * laneHeight - 5 - (rows - 1 - client) * height, height: height - 1 };
  }

  /** What was let through in the time before each column, as far as now: later columns are not decided yet. */
  #addCurves(tile: Tile): void {
    const left = tile.number * TILE;
    const until = Math.min(TILE, this.columnOf(this.#lab.now) - left + 1);
    if (until <= tile.columns) return;
    for (const [lane, id] of CARD_IDS.entries()) {
      for (let client = 0; client < this.#lab.clients.length; client += 1) {
        this.#curve(tile, lane, id, client, tile.columns, until);
      }
    }
    tile.columns = until;
  }

  #curve(tile: Tile, lane: number, id: CardId, client: number, from: number, until: number): void {
    const policy = this.#lab.policies[id];
    const [limit, span, admissions] = [limitOf(policy), spanOf(policy), this.#lab.trace.cards[id].admissions[client]!];
    const { laneHeight, labelHeight, scale, perMs } = this.#layout;
    const floor = Math.round((lane * laneHeight + labelHeight + (laneHeight - labelHeight) * 0.5) * scale);
    const full = (laneHeight - labelHeight) * 0.44 * scale;
    const heightAt = (column: number): number => {
      const time = (tile.number * TILE + column) / perMs;
      return Math.round(Math.min(1, admissions.within(time - span, time) / limit / HIGHEST) * full);
    };
    const palette = currentPalette();
    const atLimit = Math.round(full / HIGHEST);
    let before = heightAt(from - 1);
    for (let column = from; column < until; column += 1) {
      const height = heightAt(column);
      paintColumn(tile.context, palette, column, floor, height, before, atLimit, scale, client > 0);
      before = height;
    }
  }
}

/** What does not fit above goes beside, to the left and to the right in turn, so that the heap stays where its instant is. */
function swarm(level: number, rows: number): number {
  const column = Math.floor(level / rows) % 7;
  return (column % 2 === 0 ? column / 2 : -(column + 1) / 2) * PITCH;
}

function emptyTile(height: number): Tile {
  const canvas = document.createElement('canvas');
  canvas.width = TILE;
  canvas.height = Math.max(1, height);
  return { canvas, context: canvas.getContext('2d')!, number: 0, columns: 0 };
}

/** One column of a curve: the area below the limit, the area above it, and the line on top. A second client has only a line. */
function paintColumn(
  context: CanvasRenderingContext2D,
  palette: Palette,
  x: number,
  floor: number,
  height: number,
  before: number,
  atLimit: number,
  scale: number,
  isSecond: boolean,
): void {
  if (height === 0 && before === 0) return;
  const isOver = height > atLimit;
  if (!isSecond) {
    context.fillStyle = palette['allowed-wash'];
    context.fillRect(x, floor - Math.min(height, atLimit), 1, Math.min(height, atLimit));
    if (isOver) {
      context.fillStyle = palette.denied;
      context.globalAlpha = 0.28;
      context.fillRect(x, floor - height, 1, height - atLimit);
      context.globalAlpha = 1;
    }
  }
  const [low, high] = [Math.min(before, height), Math.max(before, height)];
  context.fillStyle = isSecond ? palette.soft : isOver ? palette.denied : palette.allowed;
  if (isSecond && x % (6 * scale) >= 3 * scale && low === high) return;
  context.fillRect(x, floor - high - scale, 1, high - low + 1.5 * scale);
}

function paintMark(
  context: CanvasRenderingContext2D,
  palette: Palette,
  outcome: Exclude<Outcome, 'delayed'>,
  x: number,
  y: number,
  scale: number,
): void {
  if (outcome === 'allowed') {
    context.fillStyle = palette.allowed;
    disc(context, x, y, 2.9 * scale);
    return;
  }
  context.strokeStyle = palette.denied;
  context.lineWidth = 1.5 * scale;
  context.lineCap = 'round';
  drawCross(context, x, y, 2.3 * scale);
}

/** A ring where it came, a diamond where it goes, and a line between. */
function paintDelayed(
  context: CanvasRenderingContext2D,
  palette: Palette,
  x: number,
  y: number,
  actsX: number,
  actsY: number,
  scale: number,
): void {
  context.strokeStyle = palette.delayed;
  context.lineWidth = scale;
  context.globalAlpha = 0.45;
  line(context, x, y, actsX, actsY);
  context.globalAlpha = 1;
  context.lineWidth = 1.3 * scale;
  ring(context, x, y, 2.3 * scale);
  context.fillStyle = palette.delayed;
  diamond(context, actsX, actsY, 3.6 * scale);
}
