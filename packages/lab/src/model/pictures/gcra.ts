/** GCRA: one moment, the theoretical arrival time. Each request pushes it one interval ahead; now catches up with it. It may never pass the horizon. */
import { roundedBox } from '../../canvas/shapes.ts';
import { seconds } from '../../words/words.ts';
import { numberIn } from '../kind.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';

const MOST_BLOCKS = 120;

export const gcraPicture: Picture = (scene) => {
  const { context, palette, state, isLarge, height, nowText } = scene;
  const { gate, box } = stageOf(scene, 22);
  const interval = numberIn(state.numbers, 'period') / numberIn(state.numbers, 'limit');
  const span = state.limit * interval;
  const [nowX, horizonX] = [box.left + 4, box.right - (isLarge ? 40 : 16)];
  const perMs = (horizonX - nowX) / span;
  const middle = (box.top + box.bottom) / 2;
  const half = isLarge ? 26 : 13;
  const track = { left: nowX, right: horizonX, top: middle - half, bottom: middle + half };
  context.fillStyle = palette.sunken;
  context.fillRect(track.left, track.top, track.right - track.left, track.bottom - track.top);
  const isShut = scene.flights.some(({ outcome, progress }) => outcome === 'denied' && progress < 0.6);
  hatch(scene, { ...track, left: horizonX, right: box.right }, isShut);
  const arrivalX = nowX + state.resetAfter * perMs;
  drawBlocks(scene, track, interval * perMs, arrivalX, Math.ceil(state.resetAfter / interval - 1e-9));
  context.fillStyle = palette.ink;
  context.fillRect(nowX - 1, track.top - 4, 2, track.bottom - track.top + 8);
  context.fillStyle = isShut ? palette.denied : palette['line-strong'];
  context.fillRect(horizonX - 1, track.top - 4, 2, track.bottom - track.top + 8);
  if (state.resetAfter > 0) marker(scene, arrivalX, track.top);
  if (isLarge) {
    write(scene, nowText, nowX, track.bottom + 14, palette.soft, 'center');
    write(scene, `+${seconds(span, span % 1000 === 0 ? 0 : 1)}`, horizonX, track.bottom + 14, palette.soft, 'center');
    const text = state.resetAfter > 0 ? `arrival time: in ${seconds(state.resetAfter)}` : 'arrival time: now';
    write(scene, text, box.left, height - 12, palette.soft);
  }
  drawRequests(scene, gate, box, { x: Math.max(nowX + 4, arrivalX - 4), y: middle });
};

/** One block for each interval that is spoken for; they glide towards now. */
function drawBlocks({ context, palette }: Scene, track: Box, pitch: number, right: number, blocks: number): void {
  context.fillStyle = palette.allowed;
  const inset = track.bottom - track.top > 30 ? 6 : 3;
  for (let block = 0; block < Math.min(MOST_BLOCKS, blocks); block += 1) {
    const end = right - block * pitch;
    const start = Math.max(track.left, end - pitch);
    const gap = pitch > 5 ? 1 : 0.25;
    roundedBox(
      context,
      start + gap,
      track.top + inset,
      end - start - 2 * gap,
      track.bottom - track.top - 2 * inset,
      2.5,
    );
    context.globalAlpha = 0.45 + (0.55 * (blocks - block)) / blocks;
    context.fill();
  }
  context.globalAlpha = 1;
}

function marker({ context, palette }: Scene, x: number, top: number): void {
  context.fillStyle = palette.ink;
  context.beginPath();
  context.moveTo(x, top + 3);
  context.lineTo(x - 5, top - 5);
  context.lineTo(x + 5, top - 5);
  context.fill();
}

/** Where no arrival time may be. */
function hatch({ context, palette }: Scene, { left, right, top, bottom }: Box, isShut: boolean): void {
  context.fillStyle = isShut ? palette['denied-wash'] : palette.sunken;
  context.fillRect(left, top, right - left, bottom - top);
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, bottom - top);
  context.clip();
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  context.beginPath();
  for (let offset = top - bottom; offset < right - left; offset += 6) {
    context.moveTo(left + offset, bottom);
    context.lineTo(left + offset + bottom - top, top);
  }
  context.stroke();
  context.restore();
}
