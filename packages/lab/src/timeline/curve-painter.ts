/** Curves: what one row allowed within one window before each instant, against the limit. */
import { currentPalette, type Palette } from '../canvas/palette.ts';
import type { Lab } from '../lab/lab.ts';
import type { Row } from '../model/row.ts';
import { curveZone, type LaneLayout } from './lane-layout.ts';

/** Curves reach up to this many times the limit. */
const HIGHEST = 2;

export interface Curve {
  readonly row: Row;
  readonly lane: number;
  readonly client: number;
  /** Columns of the tile, from the first up to but not the second. */
  readonly from: number;
  readonly until: number;
}

/** `left`: the column at which the tile begins. */
export function paintCurve(
  context: CanvasRenderingContext2D,
  lab: Lab,
  layout: LaneLayout,
  left: number,
  { row, lane, client, from, until }: Curve,
): void {
  const { units, window } = row.meant;
  const admissions = lab.trace.rows[row.id]!.admissions[client]!;
  const { top, height } = curveZone(layout, lane);
  const floor = Math.round((top + height) * layout.scale);
  const full = height * layout.scale;
  const heightAt = (column: number): number => {
    const time = (left + column) / layout.perMs;
    return Math.round(Math.min(1, admissions.within(time - window, time) / units / HIGHEST) * full);
  };
  const palette = currentPalette();
  const atLimit = Math.round(full / HIGHEST);
  let before = heightAt(from - 1);
  for (let column = from; column < until; column += 1) {
    const now = heightAt(column);
    paintColumn(context, palette, column, floor, { height: now, before, atLimit }, layout.scale, client > 0);
    before = now;
  }
}

interface Column {
  readonly height: number;
  readonly before: number;
  readonly atLimit: number;
}

/** One column of a curve: the area below the limit, the area above it, and the line on top. A second client has only a line. */
function paintColumn(
  context: CanvasRenderingContext2D,
  palette: Palette,
  x: number,
  floor: number,
  { height, before, atLimit }: Column,
  scale: number,
  isSecond: boolean,
): void {
  if (height === 0 && before === 0) return;
  const isOver = height > atLimit;
  if (!isSecond) {
    context.fillStyle = palette['allowed-wash'];
    context.fillRect(x, floor - Math.min(height, atLimit), 1, Math.min(height, atLimit));
    if (isOver) {
      context.fillStyle = palette.over;
      context.fillRect(x, floor - height, 1, height - atLimit);
    }
  }
  const [low, high] = [Math.min(before, height), Math.max(before, height)];
  context.fillStyle = isSecond ? palette.soft : isOver ? palette.denied : palette.allowed;
  if (isSecond && x % (6 * scale) >= 3 * scale && low === high) return;
  context.fillRect(x, floor - high - scale, 1, high - low + 1.5 * scale);
}
