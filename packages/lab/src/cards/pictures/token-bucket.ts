/** Token bucket: tokens lie in a bucket. Requests take them away; the next one falls in as the refill rate has it. */
import { disc, ring } from '../../canvas/shapes.ts';
import { amount } from '../../canvas/words.ts';
import { type Picture, type Scene, write } from './picture.ts';

const MOST_TOKENS = 60;

export const tokenBucketPicture: Picture = (scene) => {
  const { context, width, height, palette, state } = scene;
  const rate = state.policy.algorithm === 'token-bucket' ? state.policy.refillRate : 1;
  const box = { left: width * 0.24, right: width * 0.76, top: 30, floor: height - 8 };
  bucketOutline(scene, box);
  const tokens = state.limit - state.used;
  if (state.limit > MOST_TOKENS) level(scene, box, tokens / state.limit);
  else coins(scene, box, tokens);
  write(scene, `+${amount(rate)}/s`, box.right + 10, box.top + 2, palette.faint);
  context.fillStyle = palette['line-strong'];
  context.fillRect(width / 2 - 9, 0, 18, 3);
};

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly floor: number;
}

/** Open at the top, a little narrower below. */
export function bucketPath({ context }: Scene, { left, right, top, floor }: Box, inset = 0): void {
  const taper = 10;
  const radius = 12 - inset;
  context.beginPath();
  context.moveTo(left + inset, top);
  context.lineTo(left + taper + inset * 0.9, floor - radius - inset);
  context.quadraticCurveTo(left + taper + inset, floor - inset, left + taper + radius + inset, floor - inset);
  context.lineTo(right - taper - radius - inset, floor - inset);
  context.quadraticCurveTo(right - taper - inset, floor - inset, right - taper - inset * 0.9, floor - radius - inset);
  context.lineTo(right - inset, top);
}

export function bucketOutline(scene: Scene, box: Box): void {
  const { context, palette } = scene;
  bucketPath(scene, box);
  context.fillStyle = palette.sunken;
  context.fill();
  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.stroke();
}

function level(scene: Scene, box: Box, share: number): void {
  const { context, palette } = scene;
  const y = box.floor - share * (box.floor - box.top - 6);
  context.save();
  bucketPath(scene, box, 3);
  context.clip();
  context.fillStyle = palette.allowed;
  context.fillRect(box.left, y, box.right - box.left, box.floor - y);
  context.restore();
}

function coins(scene: Scene, box: Box, tokens: number): void {
  const { context, palette, state, width } = scene;
  const [innerWidth, innerHeight] = [box.right - box.left - 40, box.floor - box.top - 14];
  const columns = Math.max(1, Math.min(state.limit, Math.ceil(Math.sqrt((state.limit * innerWidth) / innerHeight))));
  const rows = Math.ceil(state.limit / columns);
  const pitch = Math.min(innerWidth / columns, innerHeight / rows, 26);
  const radius = pitch * 0.4;
  const whole = Math.floor(tokens + 1e-9);
  const fraction = tokens - whole;
  for (let token = 0; token < state.limit; token += 1) {
    const inRow = Math.min(columns, state.limit - Math.floor(token / columns) * columns);
    const x = width / 2 + ((token % columns) - (inRow - 1) / 2) * pitch;
    const y = box.floor - 8 - radius - Math.floor(token / columns) * pitch;
    if (token < whole) {
      context.fillStyle = palette.allowed;
      disc(context, x, y, radius);
    } else {
      context.strokeStyle = palette['line-strong'];
      context.lineWidth = 1.2;
      ring(context, x, y, radius - 0.6);
      if (token === whole && fraction > 0.001) falling(scene, x, y, radius, fraction);
    }
  }
}

/** The token on its way: from the tap to its place, as much of the time as has passed. */
function falling(
  { context, palette, width, still }: Scene,
  x: number,
  y: number,
  radius: number,
  fraction: number,
): void {
  context.fillStyle = palette.allowed;
  context.globalAlpha = 0.35 + 0.65 * fraction;
  if (still) disc(context, x, y, radius * fraction);
  else
    disc(
      context,
      width / 2 + (x - width / 2) * fraction,
      6 + (y - 6) * fraction * fraction,
      radius * (0.5 + fraction / 2),
    );
  context.globalAlpha = 1;
}
