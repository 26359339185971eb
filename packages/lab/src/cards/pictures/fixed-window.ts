/** Fixed window: the count climbs step by step and falls to nothing at each edge of the clock, which glides by. */
import { eachGranted } from '../../engine/card-state.ts';
import { limitLine, type Picture, write } from './picture.ts';

export const fixedWindowPicture: Picture = (scene) => {
  const { context, width, height, palette, state, trace, id, client } = scene;
  const { start, size, current } = state.window!;
  const [top, floor] = [20, height - 20];
  const nowX = width * 0.68;
  const perMs = (width * 0.52) / size;
  const xOf = (time: number): number => nowX + (time - state.now) * perMs;
  const yOf = (count: number): number => floor - Math.min(1, count / state.limit) * (floor - top);

  context.fillStyle = palette.sunken;
  context.fillRect(xOf(start), top, size * perMs, floor - top);

  // Steps of the windows that can be seen, each from its own zero.
  const oldest = start - 2 * size;
  const steps: [at: number, cost: number][] = [];
  eachGranted(trace, id, client, trace.lastAt(state.now), oldest, (at, cost) => {
    if (steps.length < 1_500) steps.push([at, cost]);
  });
  steps.reverse();
  context.fillStyle = palette['allowed-wash'];
  context.strokeStyle = palette.allowed;
  context.lineWidth = 2;
  for (let edge = oldest; edge <= start; edge += size) {
    const until = Math.min(edge + size, state.now);
    const within = steps.filter(([at]) => at >= edge - 0.0005 && at < edge + size - 0.0005);
    drawSteps(scene, within, until, xOf, yOf, floor);
  }

  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  for (let edge = oldest; edge <= start + size; edge += size) {
    const x = Math.round(xOf(edge)) + 0.5;
    if (x < 0 || x > width) continue;
    context.beginPath();
    context.moveTo(x, top - 6);
    context.lineTo(x, floor + 6);
    context.stroke();
  }
  limitLine(scene, 0, width, top);
  context.fillStyle = palette.ink;
  context.fillRect(Math.round(nowX) - 1, top - 8, 2, floor - top + 16);
  write(scene, 'now', nowX, height - 7, palette.soft, 'center');
  write(scene, `limit ${state.limit}`, 0, 8, palette.faint);
  if (current > 0 || state.used > 0)
    write(scene, `${state.used}`, nowX + 7, yOf(state.used) + (state.used / state.limit > 0.85 ? 10 : -8), palette.ink);
};

function drawSteps(
  { context }: Parameters<Picture>[0],
  steps: readonly (readonly [number, number])[],
  until: number,
  xOf: (time: number) => number,
  yOf: (count: number) => number,
  floor: number,
): void {
  const first = steps[0];
  if (first === undefined) return;
  let count = 0;
  context.beginPath();
  context.moveTo(xOf(first[0]), floor);
  for (const [at, cost] of steps) {
    context.lineTo(xOf(at), yOf(count));
    count += cost;
    context.lineTo(xOf(at), yOf(count));
  }
  context.lineTo(xOf(until), yOf(count));
  context.stroke();
  context.lineTo(xOf(until), floor);
  context.closePath();
  context.fill();
}
