/** Each story ends with exactly the counts that the algorithms promise. The numbers are worked out from docs/semantics.md, in the comments. */
import { describe, expect, test } from 'vitest';
import { CARD_IDS } from '../src/cards/catalog.ts';
import { Lab } from '../src/engine/lab.ts';
import { PRESETS } from '../src/presets/presets.ts';
import { INITIAL_SETUP } from '../src/share/share.ts';
import { PRESET_COUNTS } from './preset-counts.ts';

describe.each(PRESETS)('$title', (preset) => {
  test('gives the promised counts', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(preset);
    while (lab.playing) await lab.frame(16);
    expect(lab.now).toBe(preset.end);
    const counts = CARD_IDS.map((id) => [id, lab.trace.cards[id].counts.slice(0, preset.clients.length)]);
    expect(Object.fromEntries(counts)).toEqual(PRESET_COUNTS[preset.id]);
  });

  test('is two sentences', () => {
    expect(preset.story.match(/\.(?= |$)/g)).toHaveLength(2);
  });
});
