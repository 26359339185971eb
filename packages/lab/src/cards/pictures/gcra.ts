/** GCRA: one moment, the theoretical arrival time. Each request pushes it one interval ahead; now catches up with it. It may never pass the horizon. */
import { roundedBox } from '../../canvas/shapes.ts';
import { seconds } from '../../canvas/words.ts';
import { NARROW, type Picture, sinceDenied, write } from './picture.ts';

const MOST_BLOCKS = 120;

export const gcraPicture: Picture = (scene) => {
  const { context, width, height, palette, state } = scene;
  if (state.policy.algorithm !== 'gcra') return;
  const interval = state.policy.period / state.policy.limit;
  const span = state.policy.capacity * interval;
  const [nowX, horizonX] = [width * 0.1, width * 0.86];
  const perMs = (horizonX - nowX) / span;
  const [top, floor] = [height / 2 - 24, height / 2 + 16];
  const arrivalX = nowX + state.resetAfter * perMs;

  context.fillStyle = palette.sunken;
  context.fillRect(0, top, horizonX, floor - top);
  const denied = sinceDenied(scene);
  context.fillStyle = denied < 900 ? palette['denied-wash'] : palette.sunken;
  hatch(scene, horizonX, top, width - horizonX, floor - top);

  // One block for each interval that is spoken for; they glide towards now.
  context.fillStyle = palette.allowed;
  const blocks = Math.min(MOST_BLOCKS, Math.ceil(state.resetAfter / interval - 1e-9));
  for (let block = 0; block < blocks; block += 1) {
    const right = arrivalX - block * interval * perMs;
    const left = Math.max(nowX, right - interval * perMs);
    roundedBox(context, left + 1, top + 6, right - left - 2, floor - top - 12, 3);
    context.globalAlpha = 0.45 + (0.55 * (blocks - block)) / blocks;
    context.fill();
  }
  context.globalAlpha = 1;

  context.fillStyle = palette.ink;
  context.fillRect(Math.round(nowX) - 1, top - 8, 2, floor - top + 16);
  context.fillStyle = denied < 900 ? palette.denied : palette['line-strong'];
  context.fillRect(Math.round(horizonX) - 1, top - 8, 2, floor - top + 16);
  if (state.resetAfter > 0) marker(scene, arrivalX, top);
  write(scene, 'now', nowX, floor + 18, palette.soft, 'center');
  write(scene, `+${seconds(span, span % 1000 === 0 ? 0 : 1)}`, horizonX, floor + 18, palette.faint, 'center');
  const name = width < NARROW ? 'TAT' : 'arrival time';
  const label = state.resetAfter > 0 ? `${name} +${seconds(state.resetAfter)}` : `${name}: now`;
  const half = width < NARROW ? 36 : 64;
  write(scene, label, Math.max(half, Math.min(width - half, arrivalX)), top - 20, palette.ink, 'center');
};

function marker({ context, palette }: Parameters<Picture>[0], x: number, top: number): void {
  context.fillStyle = palette.ink;
  context.beginPath();
  context.moveTo(x, top + 2);
  context.lineTo(x - 6, top - 9);
  context.lineTo(x + 6, top - 9);
  context.fill();
}

/** Where no arrival time may be. */
function hatch(
  { context, palette }: Parameters<Picture>[0],
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.fillRect(x, y, width, height);
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  context.beginPath();
  for (let offset = -height; offset < width; offset += 7) {
    context.moveTo(x + offset, y + height);
    context.lineTo(x + offset + height, y);
  }
  context.stroke();
  context.restore();
}
