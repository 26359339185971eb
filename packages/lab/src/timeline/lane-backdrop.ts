/** What lies behind and above the marks: axis, lanes, limits, now, and the pointer. */
import type { Palette } from '../canvas/palette.ts';
import { clockTime } from '../canvas/words.ts';
import { CARD_IDS, limitOf } from '../cards/catalog.ts';
import { SMALL_TEXT } from '../cards/pictures/picture.ts';
import type { Lab } from '../engine/lab.ts';
import type { LaneLayout } from './lane-painter.ts';
import { ticksOf, type View } from './view.ts';

type Context = CanvasRenderingContext2D;

export const axisHeight = 26;
const NARROW = 560;

export function layoutFor(width: number, height: number, scale: number, span: number): LaneLayout {
  const laneHeight = (height - axisHeight) / CARD_IDS.length;
  return { laneHeight, labelHeight: width < NARROW ? 20 : 0, scale, perMs: (width * scale) / span };
}

export function paintBackdrop(
  context: Context,
  palette: Palette,
  lab: Lab,
  view: View,
  { laneHeight, labelHeight }: LaneLayout,
  width: number,
): void {
  const xOf = (time: number): number => ((time - view.from) / view.span) * width;
  const bottom = axisHeight + laneHeight * CARD_IDS.length;
  const nowX = xOf(lab.now);
  context.fillStyle = palette.sunken;
  context.fillRect(Math.max(0, nowX), axisHeight, width - Math.max(0, nowX), bottom - axisHeight);
  context.lineWidth = 1;
  context.font = SMALL_TEXT;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  for (const tick of ticksOf(view, Math.max(3, width / 80))) {
    const x = Math.round(xOf(tick)) + 0.5;
    context.strokeStyle = palette.line;
    context.beginPath();
    context.moveTo(x, axisHeight - 4);
    context.lineTo(x, bottom);
    context.stroke();
    context.fillStyle = palette.faint;
    if (x > 14 && x < width - 14) context.fillText(tickText(tick), x, 11);
  }
  context.textAlign = 'right';
  CARD_IDS.forEach((id, lane) => {
    const top = Math.round(axisHeight + lane * laneHeight) + 0.5;
    context.strokeStyle = palette.line;
    context.beginPath();
    context.moveTo(0, top);
    context.lineTo(width, top);
    context.stroke();
    const limitY = Math.round(top + labelHeight + (laneHeight - labelHeight) * 0.28) + 0.5;
    context.strokeStyle = palette.faint;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(0, limitY);
    context.lineTo(width, limitY);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = palette.faint;
    context.fillText(`limit ${limitOf(lab.policies[id])}`, width - 4, limitY - 8);
    if (lab.clients.length === 1) return;
    lab.clients.forEach((name, client) => {
      const row = ((laneHeight - labelHeight) * 0.44) / lab.clients.length;
      context.fillText(name, width - 4, top + laneHeight - 9 - (lab.clients.length - 1 - client) * row);
    });
  });
}

function tickText(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : clockTime(ms).replace(/\.\d+$/, '');
}

export function paintNow(
  context: Context,
  palette: Palette,
  lab: Lab,
  view: View,
  layout: LaneLayout,
  width: number,
): void {
  vertical(context, palette['line-strong'], ((lab.now - view.from) / view.span) * width, layout, 1);
}

/** One line through all lanes, with its time. */
export function paintPointer(
  context: Context,
  palette: Palette,
  time: number,
  view: View,
  layout: LaneLayout,
  width: number,
): void {
  const x = ((time - view.from) / view.span) * width;
  vertical(context, palette.ink, x, layout, 1.5);
  const text = clockTime(time);
  context.font = SMALL_TEXT;
  const half = context.measureText(text).width / 2 + 7;
  const middle = Math.max(half, Math.min(width - half, x));
  context.fillStyle = palette.ink;
  context.beginPath();
  context.roundRect(middle - half, 1, half * 2, 20, 6);
  context.fill();
  context.fillStyle = palette.surface;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, middle, 11.5);
}

function vertical(context: Context, color: string, x: number, { laneHeight }: LaneLayout, width: number): void {
  context.fillStyle = color;
  context.fillRect(x - width / 2, axisHeight - 6, width, laneHeight * CARD_IDS.length + 6);
}
