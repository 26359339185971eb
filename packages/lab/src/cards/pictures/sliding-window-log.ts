/** Sliding window log: every admission is a dot at its time. The window slides along with now, and what falls out at its left end is forgotten. */
import { disc, roundedBox } from '../../canvas/shapes.ts';
import { clockTime } from '../../canvas/words.ts';
import { eachGranted } from '../../engine/card-state.ts';
import { NARROW, type Picture, write } from './picture.ts';

const MOST_DOTS = 600;

export const slidingWindowLogPicture: Picture = (scene) => {
  const { context, width, height, palette, state, trace, id, client } = scene;
  const { size } = state.window!;
  const [top, floor] = [14, height - 22];
  const [left, right] = [width * 0.2, width - 10];
  const perMs = (right - left) / size;
  const radius = state.limit > 60 ? 2.2 : 4;
  const rows = Math.max(1, Math.floor((floor - top - 8) / (radius * 2 + 1.5)));

  roundedBox(context, left, top, right - left, floor - top, 6);
  context.fillStyle = palette.sunken;
  context.fill();

  let [newest, oldest, dots] = [Number.NaN, Number.NaN, 0];
  let [lastX, row] = [Number.POSITIVE_INFINITY, 0];
  eachGranted(trace, id, client, trace.lastAt(state.now), state.now - size * 1.28, (at, cost) => {
    const x = right - (state.now - at) * perMs;
    const isInside = at > state.now - size + 0.0005;
    if (isInside) {
      if (Number.isNaN(newest)) newest = at;
      oldest = at;
    }
    context.fillStyle = isInside ? palette.allowed : palette.ghost;
    for (let unit = 0; unit < Math.min(cost, rows) && dots < MOST_DOTS; unit += 1) {
      row = lastX - x < radius * 1.6 ? (row + 1) % rows : 0;
      lastX = x;
      dots += 1;
      disc(context, x, floor - 4 - radius - row * (radius * 2 + 1.5), radius);
    }
  });

  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  for (const [x, inward] of [
    [left, 6],
    [right, -6],
  ] as const) {
    context.beginPath();
    context.moveTo(x + inward, top);
    context.lineTo(x, top);
    context.lineTo(x, floor);
    context.lineTo(x + inward, floor);
    context.stroke();
  }
  write(scene, 'now', right, height - 8, palette.soft, 'right');
  if (width >= NARROW) write(scene, 'forgotten', left - 8, height - 8, palette.faint, 'right');
  if (!Number.isNaN(oldest))
    write(
      scene,
      width < NARROW ? clockTime(oldest) : `oldest ${clockTime(oldest)}`,
      left + 2,
      height - 8,
      palette.soft,
    );
};
