/** Tells a story. Whoever wants no motion sees how it ends, and can go back to its start and through it step by step. */
import type { Lab } from '../lab/lab.ts';
import type { Plan } from '../model/stories/story.ts';
import type { Setup } from '../setup/setup.ts';
import { isStill } from '../view/motion.ts';

/** With the set-up of an address that was shared; without one, on rows that all have the reader's limit. */
export async function tell(lab: Lab, plan: Plan, setup?: Setup): Promise<void> {
  await lab.tell(plan, setup ?? {});
  if (!isStill() || !lab.engine.isVirtual) return;
  while (lab.story !== undefined && !lab.isOver) await lab.nextBeat();
}
