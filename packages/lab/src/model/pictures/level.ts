/** Any limit: how much of it is used, as a level that goes back until it is reset. A row of several policies has a level for each. */
import { amount, countdown } from '../../words/words.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';

interface Level {
  readonly title: string;
  readonly limit: number;
  readonly used: number;
  readonly resetAfter: number;
}

export const levelPicture: Picture = (scene) => {
  const { state, isLarge } = scene;
  const { gate, box } = stageOf(scene, 0);
  const levels: readonly Level[] =
    state.parts.length > 0
      ? state.parts.map(({ title, limit, remaining, resetAfter }) => ({
          title,
          limit,
          used: limit - remaining,
          resetAfter,
        }))
      : [{ title: '', limit: state.limit, used: state.used, resetAfter: state.resetAfter }];
  const pitch = Math.min(isLarge ? 80 : 42, (box.bottom - box.top) / levels.length);
  const first = (box.top + box.bottom - pitch * levels.length) / 2;
  levels.forEach((level, index) => {
    const top = first + index * pitch;
    drawLevel(scene, { ...box, top, bottom: top + pitch - (isLarge ? 6 : 3) }, level);
  });
  drawRequests(scene, gate, box, { x: box.left + 8, y: (box.top + box.bottom) / 2 });
};

function drawLevel(scene: Scene, { left, right, top, bottom }: Box, { title, limit, used, resetAfter }: Level): void {
  const { context, palette, isLarge } = scene;
  const text = isLarge || title !== '' ? 13 : 0;
  const [barTop, barBottom] = [top + text, Math.min(bottom, top + text + (isLarge ? 34 : 20))];
  const share = Math.min(1, used / limit);
  context.fillStyle = palette.sunken;
  context.fillRect(left, barTop, right - left, barBottom - barTop);
  context.fillStyle = palette.allowed;
  context.fillRect(left, barTop, (right - left) * share, barBottom - barTop);
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, barTop + 0.5, right - left - 1, barBottom - barTop - 1);
  if (text === 0) return;
  write(
    scene,
    title === '' ? `${amount(Math.ceil(used))} of ${amount(limit)} used` : title,
    left,
    top + 5,
    palette.soft,
  );
  const back = resetAfter > 0 ? `resets in ${countdown(resetAfter)}` : '';
  write(scene, isLarge ? back : `${amount(Math.ceil(used))} / ${amount(limit)}`, right, top + 5, palette.soft, 'right');
}
