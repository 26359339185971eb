/** Leaky bucket, shaping: a queue. Requests stand in line, move up, and leave one by one, each at its slot. */
import { disc, ring, roundedBox } from '../../canvas/shapes.ts';
import { plural, seconds } from '../../words/words.ts';
import { numberIn } from '../kind.ts';
import { eachGranted } from '../state.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';

/** How long a request that has left can still be seen, as a share of the time between two slots. */
const LEAVING = 0.7;
const MOST_DOTS = 200;

export const queuePicture: Picture = (scene) => {
  const { context, palette, state, isLarge, height } = scene;
  const { gate, box } = stageOf(scene, 22);
  const interval = 1000 / numberIn(state.numbers, 'leakRate');
  const exit = box.right - (isLarge ? 44 : 20);
  const middle = (box.top + box.bottom) / 2;
  const track = {
    left: box.left,
    right: exit,
    top: middle - (isLarge ? 24 : 13),
    bottom: middle + (isLarge ? 24 : 13),
  };
  roundedBox(context, track.left, track.top, track.right - track.left, track.bottom - track.top, 7);
  context.fillStyle = palette.sunken;
  context.fill();
  const perMs = (track.right - track.left - 14) / (state.limit * interval);
  const radius = Math.max(1.2, Math.min(isLarge ? 11 : 6, ((track.right - track.left) / state.limit) * 0.4));
  drawFree(scene, track, middle, radius, interval * perMs);
  drawLine(scene, track, middle, radius, perMs, interval);
  context.fillStyle = palette.ink;
  for (const end of [track.top - 2, middle + radius + 2])
    context.fillRect(exit - 1, end, 2, track.bottom + 2 - middle - radius - 2);
  if (isLarge) {
    const line = state.waiting === 0 ? 'nobody waits' : `${plural(state.waiting, 'request')} in line`;
    write(scene, line, box.left, height - 12, palette.soft);
    write(
      scene,
      `one every ${seconds(interval, interval < 1000 ? 2 : 1)}`,
      box.right,
      height - 12,
      palette.soft,
      'right',
    );
  }
  const last = exit - 8 - state.resetAfter * perMs;
  drawRequests(scene, gate, box, { x: Math.max(track.left + radius, last), y: middle });
};

/** Free places, behind whoever is last in line. */
function drawFree({ context, palette, state }: Scene, track: Box, middle: number, radius: number, pitch: number): void {
  if (state.limit > 60) return;
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1.1;
  const last = track.right - 8 - state.used * pitch;
  for (let place = 0; place < state.remaining; place += 1) {
    const x = last - place * pitch;
    if (x > track.left + radius) ring(context, x, middle, radius - 0.6);
  }
}

function drawLine(scene: Scene, track: Box, middle: number, radius: number, perMs: number, interval: number): void {
  const { context, palette, state, trace, client, still } = scene;
  const seen = interval * LEAVING;
  let dots = 0;
  eachGranted(trace, state.row.id, client, trace.lastAt(state.now), state.now - seen, (at, cost, delay) => {
    dots += 1;
    const gone = state.now - (at + delay);
    if (dots > MOST_DOTS || (gone > 0 && still)) return;
    if (gone > 0) {
      context.globalAlpha = 1 - gone / seen;
      context.fillStyle = palette.allowed;
      disc(context, track.right + 4 + (gone / seen) * 18, middle, radius);
      context.globalAlpha = 1;
      return;
    }
    context.fillStyle = palette.delayed;
    for (let unit = 0; unit < Math.min(cost, 20); unit += 1) {
      const x = track.right - 8 + gone * perMs - unit * interval * perMs;
      if (x > track.left) disc(context, x, middle, radius);
    }
  });
}
