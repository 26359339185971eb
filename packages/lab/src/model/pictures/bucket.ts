/** A bucket, open at the top and a little narrower below. */
import type { Box, Scene } from './scene.ts';

export function bucketPath({ context }: Scene, { left, right, top, bottom }: Box, inset = 0): void {
  const taper = Math.min(10, (right - left) * 0.12);
  const radius = Math.max(2, Math.min(12, (bottom - top) * 0.18) - inset);
  context.beginPath();
  context.moveTo(left + inset, top);
  context.lineTo(left + taper + inset * 0.9, bottom - radius - inset);
  context.quadraticCurveTo(left + taper + inset, bottom - inset, left + taper + radius + inset, bottom - inset);
  context.lineTo(right - taper - radius - inset, bottom - inset);
  context.quadraticCurveTo(right - taper - inset, bottom - inset, right - taper - inset * 0.9, bottom - radius - inset);
  context.lineTo(right - inset, top);
}

export function bucketOutline(scene: Scene, box: Box): void {
  const { context, palette } = scene;
  bucketPath(scene, box);
  context.fillStyle = palette.sunken;
  context.fill();
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.8;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.stroke();
}

/** What is in it, up to a share of its height; `wave` moves its surface. */
export function bucketFill(scene: Scene, box: Box, share: number, wave: (x: number) => number): void {
  const { context, palette } = scene;
  if (share <= 0) return;
  const surface = box.bottom - 3 - share * (box.bottom - box.top - 6);
  context.save();
  bucketPath(scene, box, 3);
  context.clip();
  context.fillStyle = palette.allowed;
  context.beginPath();
  context.moveTo(box.left, box.bottom);
  for (let x = box.left; x <= box.right; x += 6) context.lineTo(x, surface + wave(x));
  context.lineTo(box.right, surface);
  context.lineTo(box.right, box.bottom);
  context.fill();
  context.restore();
}
