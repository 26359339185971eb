/** Each story ends with exactly the counts that the algorithms promise, is told in beats, and says what happened. */
import { createLimiter, manualClock, memoryStore } from 'sluice';
import { describe, expect, test } from 'vitest';
import { BrowserEngine } from '../src/engine/browser-engine.ts';
import { Lab } from '../src/lab/lab.ts';
import { PLANS, planAfter } from '../src/model/stories/index.ts';
import { BEARABLE_DELAY } from '../src/model/stories/story.ts';
import { INITIAL_SETUP } from '../src/setup/setup.ts';
import { noCounts } from '../src/trace/answers.ts';
import type { Arrival } from '../src/trace/trace.ts';
import { randomFrom } from '../src/traffic/random.ts';
import { STORY_COUNTS } from './story-counts.ts';

/** Frames of 16 ms; questions are answered as soon as they are asked. */
async function toldToTheEnd(lab: Lab, frame = 16): Promise<string[]> {
  const said: string[] = [];
  for (let frames = 0; lab.playing && frames < 1e6; frames += 1) {
    const { player } = lab;
    if (player !== undefined && said.at(-1) !== player.said.text) said.push(player.said.text);
    if (player?.isHeld === true) lab.choose(player.asked?.choices[0]);
    await lab.frame(frame);
  }
  said.push(lab.player!.said.text);
  return said;
}

describe.each(PLANS)('$title', (plan) => {
  const story = plan.make(INITIAL_SETUP.limit);

  test('gives the promised counts', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(plan);
    await toldToTheEnd(lab);
    expect(lab.now).toBe(story.end);
    const counts = lab.rows.map(({ id }) => [id, lab.trace.rows[id]!.counts.slice(0, story.clients.length)]);
    expect(Object.fromEntries(counts)).toEqual(STORY_COUNTS[plan.id]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'gives them as well where every answer is a little late, seed %d',
    async (seed) => {
      const lab = new Lab(INITIAL_SETUP);
      await lab.tell(plan);
      const arrivals = late(story.script, randomFrom(seed));
      const answered = await new BrowserEngine().ask(arrivals, story.clients, lab.rows);
      const counts = lab.rows.map(({ id }, row) => {
        const clients = story.clients.map(noCounts);
        for (const { client, answers } of answered) {
          const { allowed, delay } = answers[row]!;
          clients[client]![allowed ? 'allowed' : 'denied'] += 1;
          if (delay !== null) clients[client]!.delayed += 1;
        }
        return [id, clients];
      });
      expect(Object.fromEntries(counts)).toEqual(STORY_COUNTS[plan.id]);
    },
  );

  test('has beats in order, within it, about rows that are there', () => {
    const times = story.beats.map(({ at }) => at);
    expect(times).toEqual([...times].sort((one, other) => one - other));
    expect(times[0]).toBe(story.start);
    expect(times.at(-1)).toBeLessThan(story.end);
    const rows = (story.rows ?? new Lab(INITIAL_SETUP).rows).map(({ id }) => id);
    for (const { row } of story.beats) if (row !== undefined) expect(rows).toContain(row);
    expect(story.beats.filter(({ ask }) => ask !== undefined).length).toBeGreaterThan(0);
  });

  test('asks what can be known, and tells what was right', async () => {
    for (const pick of ['right', 'wrong'] as const) {
      const lab = new Lab(INITIAL_SETUP);
      await lab.tell(plan);
      while (lab.player!.asked === undefined) await lab.nextBeat();
      const { choices } = lab.player!.asked;
      const right = rightAnswer(plan.id);
      expect(choices).toContain(right);
      lab.choose(pick === 'right' ? right : choices.find((choice) => choice !== right));
      const said = await toldToTheEnd(lab);
      const told = said.filter((text) => /^(Right\.|You said \d+, and it is \d+\.) /.test(text));
      expect(told.length).toBeGreaterThan(0);
      expect(told[0]!.startsWith(pick === 'right' ? 'Right. ' : 'You said ')).toBe(true);
      if (pick === 'wrong') expect(told[0]).toContain(`and it is ${right}.`);
    }
  });

  test('ends on what there is to learn, with numbers that are counts', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(plan);
    const said = await toldToTheEnd(lab);
    expect([lab.isOver, lab.playing, lab.viewed]).toEqual([true, false, undefined]);
    expect(said.at(-1)).toContain(story.point(lab.facts()));
    const counts = STORY_COUNTS[plan.id]!;
    const [row] = Object.keys(counts);
    expect(said.at(-1)).toMatch(new RegExp(`\\b${counts[row!]![0]!.allowed}\\b`));
  });

  test('slows down or stands still where it matters, and goes on by itself', async () => {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(plan);
    let [stood, frames] = [0, 0];
    for (; lab.playing && frames < 20_000; frames += 1) {
      const { now } = lab;
      await lab.frame(100);
      if (lab.now === now) stood += 1;
    }
    expect(lab.isOver).toBe(true);
    // Long enough to read, and never so long that one thinks it has ended.
    expect(stood).toBeGreaterThan(30);
    expect(frames).toBeLessThan(1_200);
  });
});

function rightAnswer(id: string): string {
  return {
    ...{ 'boundary-burst': '10', 'idle-then-burst': '10', 'greedy-and-polite': '19', 'smooth-webhooks': '1' },
    ...{ 'login-guessing': '10', 'model-tokens': '6', 'in-flight': '10' },
  }[id]!;
}

test('what is left of several policies is what looks at each of them say', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.tell(PLANS.find(({ id }) => id === 'model-tokens')!);
  const { charges } = lab.row('both');
  const clock = manualClock(0);
  const limiter = createLimiter({ policies: charges.map(({ policy }) => policy), store: memoryStore({ clock }) });
  let asked = 0;
  while (!lab.isOver) {
    await lab.advance(700);
    for (; asked < lab.trace.length; asked += 1) {
      clock.set(lab.trace.at[asked]!);
      const units = lab.trace.cost[asked]!;
      await limiter.attempt(
        charges.map(({ policy, of }) => ({ key: 'client', policy, cost: of === 'units' ? units : 1 })),
      );
    }
    clock.set(lab.now);
    const looked = (await limiter.peek('client', { cost: 0 })).decisions.map(({ remaining }) => remaining);
    // Told from whole numbers at the last admission, so a unit at most apart.
    lab.state('both').parts.forEach(({ remaining, title }, index) => {
      expect([title, Math.abs(remaining - looked[index]!) <= 1]).toEqual([title, true]);
    });
  }
  expect(asked).toBe(22);
});

test('the words of a story follow the limit', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.changeLimit({ units: 5, window: 60_000, burst: 5 });
  await lab.tell(PLANS[0]!);
  expect(lab.player!.said.text).toContain('A limit of 5 in 1 min.');
  await toldToTheEnd(lab);
  expect(lab.player!.said.text).toContain('a fixed window allowed 10 of 10 within');
});

test('and a row with numbers of its own', async () => {
  const lab = new Lab(INITIAL_SETUP);
  const own = { 'fixed-window': { limit: '5', window: '10s', align: 'epoch' } };
  await lab.tell(PLANS[0]!, { ...INITIAL_SETUP, own });
  await toldToTheEnd(lab);
  expect(lab.player!.said.text).toContain('a fixed window allowed 10 of 20 within');
});

test('no story says that a bucket holds a client to its limit: it allows its capacity, and its rate on top', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.tell(PLANS.find(({ id }) => id === 'greedy-and-polite')!);
  const said = await toldToTheEnd(lab);
  expect(said.at(-1)).toContain(
    'the windows allowed 19 to 20, buckets and GCRA 28: their capacity immediately and their rate',
  );
});

test('requests of your own end the story, and it says so', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.tell(PLANS[0]!);
  await lab.advance(500);
  await lab.send(10);
  await lab.advance(20_000);
  expect([lab.story, lab.trace.length, lab.hasLeftStory]).toEqual([undefined, 10, true]);
  await lab.tell(PLANS[0]!);
  expect(lab.hasLeftStory).toBe(false);
});

test('a story can be told again, step by step and followed by the next one', async () => {
  const lab = new Lab(INITIAL_SETUP);
  await lab.tell(PLANS[0]!);
  const { of } = lab.player!.place;
  for (let beat = 2; beat <= of; beat += 1) {
    await lab.nextBeat();
    expect(lab.player!.place.beat).toBe(beat);
  }
  await lab.nextBeat();
  expect(lab.isOver).toBe(true);
  await lab.replay();
  expect([lab.isOver, lab.now, lab.trace.length, lab.playing]).toEqual([false, lab.story!.start, 0, true]);
  expect(PLANS.map(({ id }) => planAfter(id).id)).toEqual([...PLANS.slice(1), PLANS[0]!].map(({ id }) => id));
});

test('once a story is over, whatever is done next sets time going again', async () => {
  const doNext: readonly ((lab: Lab) => Promise<void>)[] = [
    (lab) => lab.reset(),
    (lab) => lab.send(),
    (lab) => lab.tell(PLANS[0]!),
    async (lab) => lab.changeTraffic({ kind: 'steady' }),
  ];
  for (const next of doNext) {
    const lab = new Lab(INITIAL_SETUP);
    await lab.tell(PLANS[0]!);
    await toldToTheEnd(lab, 250);
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
  await Promise.all([lab.tell(PLANS[0]!), lab.tell(PLANS[1]!)]);
  expect([lab.story?.id, lab.setup.story, lab.now]).toEqual([PLANS[1]!.id, PLANS[1]!.id, 0]);
  await Promise.all([lab.tell(PLANS[0]!), lab.reset()]);
  expect([lab.story, lab.setup.story, lab.now]).toEqual([undefined, undefined, 0]);
});

test('a step goes from request to request, in the past as well', async () => {
  const lab = new Lab({ ...INITIAL_SETUP, traffic: { kind: 'steady', rate: 10, seed: 1 } });
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

test('what will come can be seen before it comes, and changes nothing', async () => {
  const setup = { ...INITIAL_SETUP, traffic: { kind: 'poisson', rate: 40, seed: 9 } } as const;
  const [watched, other] = [new Lab(setup), new Lab(setup)];
  for (let step = 0; step < 40; step += 1) {
    const ahead = watched.source.upcoming(watched.now + 1_000);
    const before = watched.trace.length;
    await watched.advance(500);
    const came = Array.from(watched.trace.at.slice(before, watched.trace.length));
    expect(came.map((at) => Math.round(at))).toEqual(ahead.filter((at) => at <= watched.now).map(Math.round));
  }
  await other.advanceTo(watched.now);
  expect(Array.from(other.trace.at)).toEqual(Array.from(watched.trace.at));
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
