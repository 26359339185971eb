/**
 * The lanes as pixels. What has happened does not change, so it is painted once, on tiles that are then only moved: a frame costs the marks
 * that are new, not those that can be seen. Time maps to whole columns of device pixels, counted from time 0.
 */

import { paletteVersion } from '../canvas/palette.ts';
import type { Lab } from '../lab/lab.ts';
import { type Counts, noCounts } from '../trace/answers.ts';
import { paintCurve } from './curve-painter.ts';
import type { LaneLayout } from './lane-layout.ts';
import { MarkPainter } from './mark-painter.ts';
import type { Strip } from './piles.ts';

const TILE = 256;

interface Tile {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  number: number;
  /** Columns of the curves that are painted, from the tile's left end. */
  columns: number;
}

const NO_LAYOUT: LaneLayout = { lanes: 0, laneHeight: 1, labelHeight: 0, scale: 1, perMs: 1, clients: 1 };

export class LanePainter {
  /** Marks painted since everything was last painted anew, by row: what a reader of the lanes can count. */
  drawn: Record<string, Counts> = {};
  readonly #lab: Lab;
  #layout = NO_LAYOUT;
  #marks: MarkPainter;
  #key = '';
  #tiles = new Map<number, Tile>();
  #spare: Tile[] = [];
  /** Arrivals that were painted, up to here. */
  #painted = 0;

  constructor(lab: Lab) {
    this.#lab = lab;
    this.#marks = new MarkPainter(lab, NO_LAYOUT);
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

  /** Starts anew when anything changes that the painted tiles depend on. */
  #begin(layout: LaneLayout): void {
    const { generation } = this.#lab.trace;
    const key = `${Object.values(layout).join()} ${generation} ${paletteVersion()}`;
    if (key === this.#key) return;
    this.#key = key;
    this.#layout = layout;
    this.#spare = [];
    this.#tiles.clear();
    this.#marks = new MarkPainter(this.#lab, layout);
    this.#painted = this.#lab.trace.first;
    this.drawn = Object.fromEntries(this.#lab.rows.map(({ id }) => [id, noCounts()]));
  }

  #recycle(first: number, last: number): void {
    for (const [number, tile] of this.#tiles) {
      if (number >= first && number <= last) continue;
      this.#tiles.delete(number);
      this.#spare.push(tile);
    }
  }

  #make(number: number): Tile {
    const height = Math.round(this.#layout.laneHeight * this.#layout.lanes * this.#layout.scale);
    const tile = this.#spare.pop() ?? emptyTile(height);
    tile.number = number;
    tile.columns = 0;
    tile.context.clearRect(0, 0, TILE, height);
    this.#tiles.set(number, tile);
    this.#addCurves(tile);
    this.#paintMarks(tile, EVERYTHING);
    return tile;
  }

  #addMarks(): void {
    const { trace } = this.#lab;
    this.#painted = Math.max(this.#painted, trace.first);
    for (; this.#painted < trace.length; this.#painted += 1) {
      this.#marks.add(this.#painted);
      this.#count(this.#painted);
    }
    const dirty = this.#marks.takeDirty();
    if (dirty !== undefined) for (const tile of this.#tiles.values()) this.#paintMarks(tile, dirty);
  }

  #count(index: number): void {
    const { trace } = this.#lab;
    const isSeen = this.#tiles.has(Math.floor(this.#marks.columnOf(trace.at[trace.slot(index)]!) / TILE));
    if (!isSeen) return;
    for (const { id } of this.#lab.rows) {
      const outcome = trace.outcome(id, index);
      if (outcome !== undefined) this.drawn[id]![outcome] += 1;
    }
  }

  #paintMarks({ context, number }: Tile, strip: Strip): void {
    this.#marks.paint({ context, left: number * TILE, width: TILE }, strip, this.#painted);
  }

  /** What was allowed in the time before each column, as far as now: later columns are not decided yet. */
  #addCurves(tile: Tile): void {
    const left = tile.number * TILE;
    const until = Math.min(TILE, this.#marks.columnOf(this.#lab.now) - left + 1);
    if (until <= tile.columns) return;
    for (const [lane, row] of this.#lab.rows.entries()) {
      for (let client = 0; client < this.#lab.clients.length; client += 1) {
        const curve = { row, lane, client, from: tile.columns, until };
        paintCurve(tile.context, this.#lab, this.#layout, left, curve);
      }
    }
    tile.columns = until;
  }
}

const EVERYTHING: Strip = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

function emptyTile(height: number): Tile {
  const canvas = document.createElement('canvas');
  canvas.width = TILE;
  canvas.height = Math.max(1, height);
  return { canvas, context: canvas.getContext('2d')!, number: 0, columns: 0 };
}
