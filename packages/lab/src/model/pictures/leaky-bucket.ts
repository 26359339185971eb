/** Leaky bucket, policing: requests pour in, the bucket leaks at its own pace, and what would overflow bounces off at the gate. */
import { amount } from '../../words/words.ts';
import { numberIn } from '../kind.ts';
import { rateWords } from '../rates.ts';
import { bucketFill, bucketOutline } from './bucket.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';

export const leakyBucketPicture: Picture = (scene) => {
  const { palette, state, isLarge, height, still } = scene;
  const { gate, box } = stageOf(scene, 22);
  const side = isLarge ? Math.min(70, (box.right - box.left) * 0.2) : 0;
  const leak = isLarge ? 20 : 9;
  const bucket = { ...box, left: box.left + side + 8, right: box.right - side, bottom: box.bottom - leak };
  bucketOutline(scene, bucket);
  const share = Math.min(1, state.used / state.limit);
  const waves = still ? 0 : Math.min(1.6, share * 6);
  bucketFill(scene, bucket, share, (x) => Math.sin(x / 13 + state.now / 260) * waves);
  if (share > 0) drops(scene, bucket, box.bottom);
  scaleMarks(scene, bucket);
  if (isLarge) {
    write(scene, `${amount(state.used)} of ${state.limit} full`, box.left, height - 12, palette.soft);
    write(
      scene,
      `leaks ${rateWords(numberIn(state.numbers, 'leakRate'))}`,
      box.right,
      height - 12,
      palette.soft,
      'right',
    );
  }
  drawRequests(scene, gate, box, { x: (bucket.left + bucket.right) / 2, y: bucket.top + 2 });
};

/** Drops fall at the leak rate, as far as one can see them apart. */
function drops({ context, palette, state, still }: Scene, { left, right, bottom }: Box, ground: number): void {
  const x = (left + right) / 2;
  context.fillStyle = palette.allowed;
  context.fillRect(x - 3, bottom - 1, 6, 3);
  const every = 1000 / Math.min(numberIn(state.numbers, 'leakRate'), 8);
  // Counted from when it will be empty: then the last drop is the last unit.
  const phase = still ? 0.4 : 1 - (state.resetAfter % every) / every;
  context.globalAlpha = 1 - phase * 0.6;
  context.beginPath();
  context.ellipse(x, bottom + 3 + phase * phase * (ground - bottom - 3), 2, 2.8, 0, 0, Math.PI * 2);
  context.fill();
  context.globalAlpha = 1;
}

/** A small scale at the side: one mark for each unit, when they can be told apart. */
function scaleMarks({ context, palette, state }: Scene, { left, top, bottom }: Box): void {
  const units = state.limit <= 20 ? state.limit : 10;
  context.fillStyle = palette['line-strong'];
  for (let unit = 0; unit <= units; unit += 1) {
    const y = Math.round(bottom - 3 - (unit / units) * (bottom - top - 6));
    context.fillRect(left - 8, y, unit % 5 === 0 ? 6 : 3, 1);
  }
}
