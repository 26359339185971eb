/** What is shown as an SVG file: names, pictures, lanes and numbers of all rows, drawn by what draws them on the page. */
import { currentPalette, type Palette } from '../canvas/palette.ts';
import type { Lab } from '../lab/lab.ts';
import { FONT } from '../model/pictures/scene.ts';
import type { Row } from '../model/row.ts';
import { paintPicture } from '../rows/row-picture.tsx';
import { paintBackdrop, paintNow, paintPointer, type Stage, xOf } from '../timeline/lane-backdrop.ts';
import { curveZone, marksZone } from '../timeline/lane-layout.ts';
import { paintShape } from '../timeline/mark-painter.ts';
import { paintSlots } from '../timeline/slot-painter.ts';
import type { Viewer } from '../timeline/viewer.ts';
import { verdictOf } from '../verdict/verdict.ts';
import { amount, count, durationWords, seconds } from '../words/words.ts';
import { SvgContext } from './svg-context.ts';

const WIDTH = 1200;
const [TOP, AXIS, ROW, NAMES, PICTURE, NUMBERS] = [56, 30, 66, 200, 170, 150];
const LEFT = 20;

export function sceneSvg(lab: Lab, viewer: Viewer): string {
  const context = new SvgContext();
  const palette = currentPalette();
  const lanes = { x: LEFT + NAMES + PICTURE + 12, width: WIDTH - LEFT * 2 - NAMES - PICTURE - NUMBERS - 24 };
  const height = TOP + AXIS + lab.rows.length * ROW + 20;
  drawHead(context, lab, palette);
  lab.rows.forEach((row, lane) => {
    drawName(context, palette, row, TOP + AXIS + lane * ROW);
    context.save();
    context.translate(LEFT + NAMES, TOP + AXIS + lane * ROW + 4);
    paintPicture(lab, row, context.canvas, PICTURE, ROW - 8);
    context.globalAlpha = 1;
    context.restore();
    drawNumbers(context, lab, palette, row, TOP + AXIS + lane * ROW);
  });
  context.save();
  context.translate(lanes.x, TOP);
  drawLanes(context, lab, viewer, palette, lanes.width);
  context.restore();
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="${FONT}">`,
    `<rect width="${WIDTH}" height="${height}" fill="${palette.surface}"/>`,
    context.markup,
    '</svg>',
    '',
  ].join('\n');
}

function drawHead(context: SvgContext, lab: Lab, palette: Palette): void {
  const { units, window, burst } = lab.limit;
  const title = lab.story?.title ?? `${count(units)} per ${durationWords(window)}, burst ${count(burst)}`;
  context.font = `650 18px ${FONT}`;
  context.fillStyle = palette.ink;
  context.fillText(title, LEFT, 24);
  context.font = `400 12px ${FONT}`;
  context.fillStyle = palette.soft;
  context.fillText(shortened(lab.player?.said.text ?? verdictOf(lab).text, 190), LEFT, 46);
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}

function drawName(context: SvgContext, palette: Palette, row: Row, top: number): void {
  context.textAlign = 'left';
  context.font = `600 13px ${FONT}`;
  context.fillStyle = palette.ink;
  context.fillText(row.title, LEFT, top + 22);
  context.font = `400 11px ${FONT}`;
  context.fillStyle = palette.soft;
  context.fillText(row.summary, LEFT, top + 40);
}

function drawNumbers(context: SvgContext, lab: Lab, palette: Palette, row: Row, top: number): void {
  const facts = lab.facts();
  const [allowed, denied] = [facts.allowed(row.id, lab.client), facts.denied(row.id, lab.client)];
  const isOver = facts.worst(row.id) >= row.meant.units + 1 - 1e-6;
  context.textAlign = 'right';
  context.font = `650 17px ${FONT}`;
  context.fillStyle = palette.ink;
  context.fillText(`${count(allowed)} of ${count(allowed + denied)}`, WIDTH - LEFT, top + 20);
  context.font = `500 11px ${FONT}`;
  context.fillStyle = isOver ? palette.denied : palette.soft;
  const wait = facts.longestWait(row.id);
  const waits = wait === 0 ? '' : `, wait ${seconds(wait)}`;
  context.fillText(`worst window ${amount(facts.worst(row.id))}${waits}`, WIDTH - LEFT, top + 42);
  context.textAlign = 'left';
}

function drawLanes(context: SvgContext, lab: Lab, viewer: Viewer, palette: Palette, width: number): void {
  const view = viewer.view(lab, width);
  const layout = {
    lanes: lab.rows.length,
    laneHeight: ROW,
    labelHeight: 0,
    scale: 1,
    perMs: width / view.span,
    clients: lab.clients.length,
  };
  const stage: Stage = { context: context.canvas, palette, lab, view, layout, width, axis: AXIS };
  context.save();
  context.beginPath();
  context.rect(0, 0, width, AXIS + ROW * lab.rows.length);
  context.clip();
  paintBackdrop(stage);
  context.translate(0, AXIS);
  lab.rows.forEach((row, lane) => {
    drawCurve(context, stage, row, lane);
    drawMarks(context, stage, row, lane);
  });
  paintSlots(context.canvas, palette, lab, view, layout, width);
  context.translate(0, -AXIS);
  paintNow(stage);
  if (lab.viewed !== undefined) paintPointer(stage, lab.viewed, true);
  context.restore();
}

/** A column for each pixel, as one path. */
function drawCurve(context: SvgContext, stage: Stage, row: Row, lane: number): void {
  const { lab, view, width, layout, palette } = stage;
  const { top, height } = curveZone(layout, lane);
  const admissions = lab.trace.rows[row.id]!.admissions[lab.client]!;
  const nowX = Math.min(width, xOf(stage, lab.now));
  const heightAt = (x: number): number => {
    const time = view.from + (x / width) * view.span;
    return Math.min(1, admissions.within(time - row.meant.window, time) / row.meant.units / 2) * height;
  };
  let before = -1;
  context.beginPath();
  context.moveTo(0, top + height);
  for (let x = 0; x <= nowX; x += 1) {
    const now = heightAt(x);
    if (now !== before) {
      context.lineTo(x, top + height - Math.max(0, before));
      context.lineTo(x, top + height - now);
    }
    before = now;
  }
  context.lineTo(nowX, top + height - Math.max(0, before));
  context.lineTo(nowX, top + height);
  context.closePath();
  context.fillStyle = palette['allowed-wash'];
  context.fill();
  context.strokeStyle = palette.allowed;
  context.lineWidth = 1.2;
  context.stroke();
}

/** Each at its instant, those of one instant above one another, as many as there is room for. */
function drawMarks(context: SvgContext, { lab, view, layout, palette, width }: Stage, row: Row, lane: number): void {
  const { trace } = lab;
  const levels = new Map<number, number>();
  for (let index = Math.max(trace.first, trace.lastAt(view.from)); index < trace.length; index += 1) {
    const slot = trace.slot(index);
    const outcome = trace.outcome(row.id, index);
    const at = trace.at[slot]!;
    if (at > lab.time || outcome === undefined || at < view.from) continue;
    const zone = marksZone(layout, lane, trace.client[slot]!);
    const x = ((at - view.from) / view.span) * width;
    const column = Math.round(x / 6);
    const level = levels.get(column) ?? 0;
    levels.set(column, level + 1);
    const pitch = Math.min(6, zone.height / 5);
    if (level * pitch > zone.height - 5) continue;
    paintShape(context.canvas, palette, outcome, x, zone.top + zone.height - 4 - level * pitch, 1);
  }
}

/** Hands a text over as a file. */
export function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
