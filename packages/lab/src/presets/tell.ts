/** Tells a story. Whoever wants no motion sees how it ends. */
import type { Lab } from '../engine/lab.ts';
import type { Setup } from '../share/share.ts';
import type { Preset } from './presets.ts';

/** With the set-up of an address that was shared; without one, on the cards as they are at first. */
export async function tell(lab: Lab, preset: Preset, setup?: Setup): Promise<void> {
  await lab.tell(preset, setup);
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (isStill && lab.engine.isVirtual) await lab.advance(preset.end - preset.start);
}
