/** Leaky bucket, policing: requests pour in, the bucket leaks at its own pace, and what would overflow is turned away at the rim. */
import { cross } from '../../canvas/shapes.ts';
import { amount } from '../../canvas/words.ts';
import { type Picture, type Scene, sinceDenied, write } from './picture.ts';
import { bucketOutline, bucketPath } from './token-bucket.ts';

export const leakyBucketPolicingPicture: Picture = (scene) => {
  const { context, width, height, palette, state, still } = scene;
  const rate = state.policy.algorithm === 'leaky-bucket' ? state.policy.leakRate : 1;
  const box = { left: width * 0.24, right: width * 0.76, top: 16, floor: height - 26 };
  bucketOutline(scene, box);

  const share = Math.min(1, state.used / state.limit);
  const surface = box.floor - 3 - share * (box.floor - box.top - 6);
  if (share > 0) {
    context.save();
    bucketPath(scene, box, 3);
    context.clip();
    context.fillStyle = palette.allowed;
    context.beginPath();
    context.moveTo(box.left, box.floor);
    for (let x = box.left; x <= box.right; x += 6) {
      const wave = still ? 0 : Math.sin(x / 13 + state.now / 260) * Math.min(1.6, share * 6);
      context.lineTo(x, surface + wave);
    }
    context.lineTo(box.right, box.floor);
    context.fill();
    context.restore();
    drops(scene, box.floor, rate);
  }
  marks(scene, box);
  write(scene, `−${amount(rate)}/s`, width / 2 + 16, height - 9, palette.faint);

  const denied = sinceDenied(scene);
  if (denied < 900) {
    context.globalAlpha = 1 - denied / 900;
    context.strokeStyle = palette.denied;
    context.lineWidth = 2.4;
    context.lineCap = 'round';
    const lift = still ? 0 : Math.min(1, denied / 300) * 10;
    cross(context, box.right + 16 + lift / 2, box.top + 4 - lift / 3, 5);
    context.globalAlpha = 1;
  }
};

/** Drops fall at the leak rate, as far as one can see them apart. */
function drops({ context, palette, width, height, state, still }: Scene, floor: number, rate: number): void {
  context.fillStyle = palette.allowed;
  context.fillRect(width / 2 - 4, floor - 1, 8, 4);
  const every = 1000 / Math.min(rate, 8);
  // Counted from when it will be empty: then the last drop is the last unit.
  const phase = still ? 0.4 : 1 - (state.resetAfter % every) / every;
  for (let drop = 0; drop < 2; drop += 1) {
    const fall = (phase + drop) / 2;
    const y = floor + 6 + fall * fall * (height - floor - 10);
    context.globalAlpha = 1 - fall * 0.7;
    context.beginPath();
    context.ellipse(width / 2, y, 2.4, 3.4, 0, 0, Math.PI * 2);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** A small scale at the side: one mark for each unit, when they can be told apart. */
function marks({ context, palette, state }: Scene, box: { left: number; top: number; floor: number }): void {
  const units = state.limit <= 25 ? state.limit : 10;
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  for (let unit = 0; unit <= units; unit += 1) {
    const y = Math.round(box.floor - 3 - (unit / units) * (box.floor - box.top - 6)) + 0.5;
    context.beginPath();
    context.moveTo(box.left - 14, y);
    context.lineTo(box.left - (unit % 5 === 0 ? 6 : 10), y);
    context.stroke();
  }
}
