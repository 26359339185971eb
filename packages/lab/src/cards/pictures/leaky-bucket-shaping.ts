/** Leaky bucket, shaping: a queue. Requests stand in line, move up, and leave through the gate one by one, each at its slot. */
import { disc, ring, roundedBox } from '../../canvas/shapes.ts';
import { amount } from '../../canvas/words.ts';
import { eachGranted } from '../../engine/card-state.ts';
import { NARROW, type Picture, sinceDenied, write } from './picture.ts';

/** How long a request that has left can still be seen. */
const LEAVING = 700;
const MOST_DOTS = 200;

export const leakyBucketShapingPicture: Picture = (scene) => {
  const { context, width, height, palette, state, trace, id, client, still } = scene;
  const rate = state.policy.algorithm === 'leaky-bucket' ? state.policy.leakRate : 1;
  const span = (state.limit / rate) * 1000;
  const [left, gate, middle] = [8, width - (width < NARROW ? 26 : 54), height / 2 - 4];
  const perMs = (gate - left - 12) / span;
  const radius = Math.max(1.5, Math.min(9, ((gate - left) / state.limit) * 0.4));
  const xOf = (slot: number): number => gate - 10 - (slot - state.now) * perMs;

  roundedBox(context, left - 6, middle - 22, gate - left + 6, 44, 8);
  context.fillStyle = palette.sunken;
  context.fill();
  // Free places, behind whoever is last in line.
  if (state.limit <= 60) {
    context.strokeStyle = palette['line-strong'];
    context.lineWidth = 1.2;
    for (let place = 0; place < state.remaining; place += 1) {
      const x = xOf(state.now + state.resetAfter + (place * 1000) / rate);
      if (x > left) ring(context, x, middle, radius - 0.6);
    }
  }
  let dots = 0;
  eachGranted(trace, id, client, trace.lastAt(state.now), state.now - LEAVING, (at, cost, delay) => {
    if (dots > MOST_DOTS) return;
    dots += 1;
    const slot = at + delay;
    const gone = state.now - slot;
    if (gone > 0 && still) return;
    context.globalAlpha = gone > 0 ? 1 - gone / LEAVING : 1;
    context.fillStyle = gone > 0 ? palette.allowed : palette.delayed;
    const x = gone > 0 ? gate + 4 + (gone / LEAVING) * 44 : xOf(slot);
    for (let unit = 0; unit < Math.min(cost, 20); unit += 1) {
      const unitX = gone > 0 ? x : x - unit * (1000 / rate) * perMs;
      if (unitX > left - radius) disc(context, unitX, middle, radius);
    }
  });
  context.globalAlpha = 1;
  context.fillStyle = palette.ink;
  context.fillRect(gate - 1, middle - 26, 2, 17);
  context.fillRect(gate - 1, middle + 9, 2, 17);
  const pace = `${amount(1 / rate)} s`;
  write(scene, width < NARROW ? pace : `one each ${pace}`, width, middle + 38, palette.faint, 'right');
  write(scene, dotsText(state.used), left - 6, middle + 38, palette.soft);
  const denied = sinceDenied(scene);
  if (denied < 900) {
    context.globalAlpha = 1 - denied / 900;
    write(scene, 'turned away', left - 6, middle - 34, palette.denied);
    context.globalAlpha = 1;
  }
};

function dotsText(depth: number): string {
  return depth === 0 ? 'nobody waits' : `${amount(Math.ceil(depth * 10) / 10)} in line`;
}
