/** Token bucket: tokens lie in a bucket. Requests take them away; the next one falls in as the refill rate has it. */
import { disc } from '../../canvas/shapes.ts';
import { countdown } from '../../words/words.ts';
import { numberIn } from '../kind.ts';
import { rateWords } from '../rates.ts';
import { bucketFill, bucketOutline } from './bucket.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';
import { emptySlot, fullSlot, largestSlot, MOST_SLOTS, slotsIn } from './slots.ts';

export const tokenBucketPicture: Picture = (scene) => {
  const { context, palette, state, isLarge, height } = scene;
  const { gate, box } = stageOf(scene, 22);
  const side = isLarge ? Math.min(70, (box.right - box.left) * 0.2) : 0;
  const bucket = { ...box, left: box.left + side, right: box.right - side, top: box.top + (isLarge ? 14 : 8) };
  bucketOutline(scene, bucket);
  const tokens = state.limit - state.used;
  if (state.limit > MOST_SLOTS) bucketFill(scene, bucket, tokens / state.limit, () => 0);
  else coins(scene, bucket, tokens);
  context.fillStyle = palette['line-strong'];
  context.fillRect((bucket.left + bucket.right) / 2 - 8, box.top - 2, 16, 3);
  if (isLarge) {
    const rate = numberIn(state.numbers, 'refillRate');
    write(scene, `${Math.floor(tokens + 1e-9)} of ${state.limit} tokens`, box.left, height - 12, palette.soft);
    const next = state.used > 0 ? `, next in ${countdown(((1 - (tokens % 1)) * 1000) / rate)}` : '';
    write(scene, `+${rateWords(rate)}${next}`, box.right, height - 12, palette.soft, 'right');
  }
  drawRequests(scene, gate, box, { x: bucket.left + 12, y: bucket.top + 6 });
};

function coins(scene: Scene, { left, right, top, bottom }: Box, tokens: number): void {
  const { palette, state, isLarge } = scene;
  const margin = isLarge ? 22 : 14;
  const inside = { left: left + margin, right: right - margin, top: top + 2, bottom: bottom - 4 };
  const slots = slotsIn(inside, state.limit, isLarge ? 30 : largestSlot(scene) * 0.85, 'center');
  const whole = Math.floor(tokens + 1e-9);
  slots.forEach((slot, index) => {
    if (index < whole) fullSlot(scene, slot, palette.allowed);
    else emptySlot(scene, slot);
  });
  const next = slots[whole];
  if (next !== undefined && tokens - whole > 0.001) falling(scene, next, tokens - whole, (left + right) / 2, top - 8);
}

/** The token on its way: from the tap to its place, as much of the time as has passed. */
function falling(
  { context, palette, still }: Scene,
  { x, y, radius }: { readonly x: number; readonly y: number; readonly radius: number },
  fraction: number,
  tapX: number,
  tapY: number,
): void {
  context.fillStyle = palette.allowed;
  context.globalAlpha = 0.35 + 0.65 * fraction;
  if (still) disc(context, x, y, radius * fraction);
  else disc(context, tapX + (x - tapX) * fraction, tapY + (y - tapY) * fraction ** 2, radius * (0.5 + fraction / 2));
  context.globalAlpha = 1;
}
