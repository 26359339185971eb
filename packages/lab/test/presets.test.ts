/** Each story ends with exactly the counts that the algorithms promise. The numbers are worked out from docs/semantics.md, in the comments. */
import { describe, expect, test } from 'vitest';
import { CARD_IDS } from '../src/cards/catalog.ts';
import { BrowserEngine } from '../src/engine/browser-engine.ts';
import { Lab } from '../src/engine/lab.ts';
import { type Arrival, noCounts } from '../src/engine/trace.ts';
import { BEARABLE_DELAY, PRESETS } from '../src/presets/presets.ts';
import { INITIAL_SETUP } from '../src/share/share.ts';
import { randomFrom } from '../src/traffic/random.ts';
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

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'gives them as well where every answer is a little late, seed %d',
    async (seed) => {
      const arrivals = late(preset.script, randomFrom(seed));
      const answered = await new BrowserEngine().ask(arrivals, preset.clients, new Lab(INITIAL_SETUP).policies);
      const counts = CARD_IDS.map((id, card) => {
        const clients = preset.clients.map(noCounts);
        for (const { client, answers } of answered) {
          const { allowed, delay } = answers[card]!;
          clients[client]![allowed ? 'allowed' : 'denied'] += 1;
          if (delay !== null) clients[client]!.delayed += 1;
        }
        return [id, clients];
      });
      expect(Object.fromEntries(counts)).toEqual(PRESET_COUNTS[preset.id]);
    },
  );

  test('is two sentences', () => {
    expect(preset.story.match(/\.(?= |$)/g)).toHaveLength(2);
  });
});

test('once a story is over, whatever is done next sets time going again', async () => {
  const doNext: readonly ((lab: Lab) => Promise<void>)[] = [
    (lab) => lab.reset(),
    (lab) => lab.send(),
    (lab) => lab.tell(PRESETS[0]!),
    async (lab) => lab.changeTraffic({ kind: 'steady' }),
  ];
  for (const next of doNext) {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(PRESETS[0]!);
    while (lab.playing) await lab.frame(250);
    await next(lab);
    expect(lab.playing).toBe(true);
  }
});

test('a pause of the user outlasts a reset', async () => {
  const lab = new Lab(INITIAL_SETUP);
  lab.pause();
  await lab.reset();
  expect(lab.playing).toBe(false);
});

test('of two stories that are wanted at once the later one is told, and a reset takes back both', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await Promise.all([lab.tell(PRESETS[0]!), lab.tell(PRESETS[1]!)]);
  expect([lab.story?.id, lab.setup.preset, lab.now]).toEqual([PRESETS[1]!.id, PRESETS[1]!.id, PRESETS[1]!.start]);
  await Promise.all([lab.tell(PRESETS[0]!), lab.reset()]);
  expect([lab.story, lab.setup.preset, lab.now]).toEqual([undefined, undefined, 0]);
});

test('a step goes from request to request, in the past as well', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 1, seed: 1 } });
  await lab.advance(3_500);
  lab.look(0);
  const seen: (number | undefined)[] = [];
  for (let steps = 0; steps < 4; steps += 1) {
    await lab.step();
    seen.push(lab.viewed);
  }
  expect(seen).toEqual([1_000, 2_000, 3_000, undefined]);
  expect(lab.now).toBe(3_500);
  await lab.step();
  expect(lab.now).toBe(4_000);
});

/** Each by a time of its own, in the order they came: sometimes as late as is borne, and sometimes not at all. */
function late(script: readonly Arrival[], random: () => number): Arrival[] {
  let earliest = 0;
  return script.map((arrival) => {
    const by = Math.min(1, Math.max(0, random() * 2 - 0.5)) * BEARABLE_DELAY;
    earliest = Math.max(earliest, Math.round(arrival.at + by));
    return { ...arrival, at: earliest };
  });
}
