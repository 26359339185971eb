/** Sliding window counter: two windows of the clock and a frame that slides over them. What the frame still covers of the previous one counts. */
import { roundedBox } from '../../canvas/shapes.ts';
import { limitLine, type Picture, write } from './picture.ts';

export const slidingWindowCounterPicture: Picture = (scene) => {
  const { context, width, height, palette, state } = scene;
  const { start, size, current, previous, carried } = state.window!;
  const [top, floor] = [20, height - 22];
  const nowX = width * 0.84;
  const perMs = (width * 0.42) / size;
  const xOf = (time: number): number => nowX + (time - state.now) * perMs;
  const heightOf = (count: number): number => Math.min(1, count / state.limit) * (floor - top);
  const edge = xOf(start);
  const [from, next] = [xOf(start - size), xOf(start + size)];

  context.fillStyle = palette.sunken;
  context.fillRect(from, top, next - from, floor - top);
  bar(scene, from + 2, edge - 2, floor, heightOf(previous), palette.ghost);
  bar(scene, edge + 2, Math.max(edge + 2, nowX), floor, heightOf(current), palette.allowed);
  // The part of the previous window that is still in the frame.
  const frameLeft = xOf(state.now - size);
  context.save();
  context.beginPath();
  context.rect(frameLeft, top, edge - 2 - frameLeft, floor - top);
  context.clip();
  bar(scene, from + 2, edge - 2, floor, heightOf(previous), palette['allowed-wash']);
  context.restore();

  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  for (const x of [from, edge, next]) {
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, top - 6);
    context.lineTo(Math.round(x) + 0.5, floor + 4);
    context.stroke();
  }
  limitLine(scene, 0, width, top);
  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  roundedBox(context, frameLeft, top - 5, nowX - frameLeft, floor - top + 10, 5);
  context.stroke();

  const share = Math.max(0, 1 - (state.now - start) / size);
  write(scene, `limit ${state.limit}`, 0, 7, palette.faint);
  write(
    scene,
    previous > 0
      ? `⌊${previous} × ${share.toFixed(2)}⌋ + ${current} = ${carried + current}`
      : `${current} in this window`,
    nowX,
    height - 7,
    palette.soft,
    'right',
  );
};

function bar(
  { context }: Parameters<Picture>[0],
  left: number,
  right: number,
  floor: number,
  height: number,
  color: string,
): void {
  context.fillStyle = color;
  context.fillRect(left, floor - height, Math.max(0, right - left), height);
}
