/** The slots of a queue: a diamond where each delayed request acts, and a line to it from where it came, as long as lines can be told apart. */
import type { Palette } from '../canvas/palette.ts';
import { diamond, line } from '../canvas/shapes.ts';
import type { Lab } from '../lab/lab.ts';
import { type LaneLayout, marksZone } from './lane-layout.ts';
import type { View } from './viewer.ts';

/** More lines than this are a smear. */
const MOST_LINES = 24;
/** More diamonds than this cannot be told apart anyway. */
const MOST_DIAMONDS = 600;

interface Slot {
  readonly x: number;
  readonly actsX: number;
  readonly client: number;
}

export function paintSlots(
  context: CanvasRenderingContext2D,
  palette: Palette,
  lab: Lab,
  view: View,
  layout: LaneLayout,
  width: number,
): void {
  lab.rows.forEach(({ id }, lane) => {
    if (!lab.trace.rows[id]!.hasDelays) return;
    const slots = slotsIn(lab, id, view, width);
    const apart = Math.min(8, ...slots.slice(1).map(({ actsX }, index) => Math.abs(actsX - slots[index]!.actsX) || 8));
    for (const { x, actsX, client } of slots) {
      const { top, height } = marksZone(layout, lane, client);
      if (slots.length <= MOST_LINES) {
        context.strokeStyle = palette.delayed;
        context.lineWidth = 1;
        context.globalAlpha = 0.45;
        line(context, x, top + height - 6, actsX, top);
        context.globalAlpha = 1;
      }
      context.fillStyle = palette.delayed;
      diamond(context, actsX, top, Math.max(1, Math.min(3.6, apart * 0.45)));
    }
  });
}

/** Newest first, those that act or came within the view. */
function slotsIn({ trace }: Lab, id: string, view: View, width: number): Slot[] {
  const { delay } = trace.rows[id]!;
  const xOf = (time: number): number => ((time - view.from) / view.span) * width;
  const slots: Slot[] = [];
  for (let index = trace.lastAt(view.to); index >= trace.first && slots.length < MOST_DIAMONDS; index -= 1) {
    const slot = trace.slot(index);
    const [at, wait] = [trace.at[slot]!, delay[slot]!];
    if (wait === 0) continue;
    // Slots come in order, so what acts before the view begins is followed by nothing that does not.
    if (at + wait < view.from) break;
    slots.push({ x: xOf(at), actsX: xOf(at + wait), client: trace.client[slot]! });
  }
  return slots;
}
