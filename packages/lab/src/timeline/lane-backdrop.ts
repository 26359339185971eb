/** What lies behind and above the marks: axis, lanes, limits, what is to come, now, and the pointer. */
import type { Palette } from '../canvas/palette.ts';
import { disc } from '../canvas/shapes.ts';
import type { Lab } from '../lab/lab.ts';
import { SMALL_TEXT } from '../model/pictures/scene.ts';
import { clockTime } from '../words/words.ts';
import { curveZone, type LaneLayout, marksZone } from './lane-layout.ts';
import { ticksOf, type View } from './viewer.ts';

type Context = CanvasRenderingContext2D;

/** Everything that is painted is painted on this, in CSS pixels from the upper left of the canvas. */
export interface Stage {
  readonly context: Context;
  readonly palette: Palette;
  readonly lab: Lab;
  readonly view: View;
  readonly layout: LaneLayout;
  readonly width: number;
  /** How high the axis above the lanes is. */
  readonly axis: number;
}

export function xOf({ view, width }: Pick<Stage, 'view' | 'width'>, time: number): number {
  return ((time - view.from) / view.span) * width;
}

function bottomOf({ layout, axis }: Stage): number {
  return axis + layout.laneHeight * layout.lanes;
}

export function paintBackdrop(stage: Stage): void {
  const { context, palette, lab, width, axis } = stage;
  const nowX = Math.max(0, xOf(stage, lab.now));
  context.fillStyle = palette.sunken;
  context.fillRect(nowX, axis, width - nowX, bottomOf(stage) - axis);
  paintTicks(stage);
  lab.rows.forEach((_, lane) => {
    paintLane(stage, lane);
  });
}

function paintTicks(stage: Stage): void {
  const { context, palette, lab, view, width, axis } = stage;
  const bottom = bottomOf(stage);
  context.font = SMALL_TEXT;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const tick of ticksOf(view, Math.max(3, width / 76))) {
    const x = Math.round(xOf(stage, tick));
    context.fillStyle = palette.line;
    context.fillRect(x, axis - 4, 1, bottom - axis + 4);
    const isCovered = Math.abs(x - xOf(stage, lab.time)) < 34;
    if (x < 14 || x > width - 14 || tick < 0 || isCovered) continue;
    context.fillStyle = palette.faint;
    context.fillText(tickText(tick, view.span), x, axis - 12);
  }
}

function tickText(ms: number, span: number): string {
  if (ms < 60_000 && span < 600_000) return `${ms / 1000} s`;
  return clockTime(ms, 0).replace(/ s$/, ' s');
}

function paintLane(stage: Stage, lane: number): void {
  const { context, palette, lab, layout, width, axis } = stage;
  const top = Math.round(axis + lane * layout.laneHeight);
  context.fillStyle = palette.line;
  context.fillRect(0, top, width, 1);
  const curve = curveZone(layout, lane);
  const limitY = Math.round(axis + curve.top + curve.height / 2);
  context.fillStyle = palette['line-strong'];
  for (let x = 0; x < width; x += 6) context.fillRect(x, limitY, 2, 1);
  if (layout.clients === 1) return;
  context.font = SMALL_TEXT;
  context.textAlign = 'right';
  context.fillStyle = palette.faint;
  lab.clients.forEach((name, client) => {
    const marks = marksZone(layout, lane, client);
    context.fillText(name, width - 4, axis + marks.top + marks.height - 4);
  });
}

/** Requests of a script that are to come, where they will come. */
export function paintUpcoming(stage: Stage): void {
  const { context, palette, lab, view, layout, axis } = stage;
  const times = new Set(lab.source.scripted(view.to).filter((at) => at > lab.now));
  context.fillStyle = palette.ghost;
  for (const time of times) {
    const x = xOf(stage, time);
    for (let lane = 0; lane < layout.lanes; lane += 1) {
      const { top, height } = marksZone(layout, lane, layout.clients - 1);
      disc(context, x, axis + top + height - 4, 1.8);
    }
  }
}

/** Now, as a line through all lanes; and the handle on the axis by which one looks back. */
export function paintNow(stage: Stage): void {
  const { context, palette, lab, axis } = stage;
  const x = xOf(stage, lab.now);
  context.fillStyle = palette.ink;
  context.fillRect(Math.round(x) - 0.5, axis - 6, 1, bottomOf(stage) - axis + 6);
  if (lab.viewed === undefined) paintHandle(stage, x, 'now', palette.ink);
}

/** A moment that is pointed at or looked at. */
export function paintPointer(stage: Stage, time: number, isLookedAt: boolean): void {
  const { context, palette, axis } = stage;
  const x = xOf(stage, time);
  const color = isLookedAt ? palette.delayed : palette.soft;
  context.fillStyle = color;
  context.fillRect(x - 0.75, axis - 6, 1.5, bottomOf(stage) - axis + 6);
  paintHandle(stage, x, clockTime(time), color);
}

function paintHandle({ context, palette, width, axis }: Stage, x: number, text: string, color: string): void {
  context.font = SMALL_TEXT;
  const half = context.measureText(text).width / 2 + 7;
  const middle = Math.max(half, Math.min(width - half, x));
  context.fillStyle = color;
  context.beginPath();
  context.roundRect(middle - half, axis - 21, half * 2, 17, 8);
  context.fill();
  context.fillStyle = palette.surface;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, middle, axis - 12);
}
