/** Stories as people see them: in beats, with questions, to the frame that tells the point. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { PLANS } from '../../src/model/stories/index.ts';
import { INITIAL_SETUP } from '../../src/setup/setup.ts';
import type { Counts } from '../../src/trace/answers.ts';
import { STORY_COUNTS } from '../story-counts.ts';
import { type Bench, inLab, type OpenPage, openBench, shownCounts, untilTraced } from './open-page.ts';

let bench: Bench;
let opened: OpenPage[] = [];
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench?.stop());
afterEach(async () => {
  const said = opened.map(({ complaints, foreign }) => ({ complaints, foreign }));
  await Promise.all(opened.map(({ close }) => close()));
  opened = [];
  for (const page of said) expect(page).toEqual({ complaints: [], foreign: [] });
});

async function open(...args: Parameters<Bench['open']>): Promise<OpenPage['page']> {
  const page = await bench.open(...args);
  opened.push(page);
  return page.page;
}

const QUIET = '#/?traffic=manual';
const caption = (page: OpenPage['page']) => page.locator('[data-caption]');
const next = (page: OpenPage['page']) => page.getByRole('button', { name: 'Next', exact: true });

/** Beat by beat to its end. */
async function toTheEnd(page: OpenPage['page']): Promise<void> {
  while (!(await inLab(page, (lab) => lab.isOver))) {
    const before = await inLab(page, (lab) => lab.player!.place.beat);
    await next(page).click();
    await page.waitForFunction((beat) => {
      const { isOver, player } = globalThis.sluiceLab!.lab;
      return isOver || player!.place.beat > beat;
    }, before);
  }
}

test('each story ends with the promised counts, in the rows and in the lanes, and tells its point', async () => {
  const page = await open(QUIET);
  for (const plan of PLANS) {
    const { clients } = plan.make(INITIAL_SETUP.limit);
    await page.getByRole('button', { name: plan.title, exact: true }).click();
    await page.waitForFunction((id) => globalThis.sluiceLab!.lab.story?.id === id, plan.id);
    await toTheEnd(page);
    const promised = STORY_COUNTS[plan.id]!;
    for (const [client, name] of clients.entries()) {
      if (clients.length > 1) await page.getByRole('button', { name, exact: true }).click();
      const counts = Object.fromEntries(Object.entries(promised).map(([id, all]) => [id, all[client]]));
      await expect.poll(() => shownCounts(page), { message: `${plan.title}, ${name}` }).toEqual(counts);
    }
    const marks = Object.fromEntries(Object.entries(promised).map(([id, counts]) => [id, marksOf(counts)]));
    await expect.poll(() => inLab(page, (lab) => lab.lanes), { message: plan.title }).toEqual(marks);
    const point = await inLab(page, (lab) => lab.story!.point(lab.facts()));
    expect(await caption(page).textContent()).toContain(point);
    expect(await page.locator('[data-callout]').count()).toBe(0);
  }
});

/** Marks of all clients: what was delayed has a mark of its own. */
function marksOf(counts: readonly Counts[]): Counts {
  const sum = (name: keyof Counts): number => counts.reduce((all, one) => all + one[name], 0);
  return { allowed: sum('allowed') - sum('delayed'), delayed: sum('delayed'), denied: sum('denied') };
}

test('the first visit is a lesson: it asks at the row, waits for a guess, and tells what was right', async () => {
  const page = await open('');
  const callout = page.locator('[data-callout]');
  await callout.filter({ hasText: 'How many of them does the fixed window allow?' }).waitFor();
  const held = await inLab(page, (lab) => [lab.now, lab.player!.isHeld]);
  expect(held).toEqual([9_900, true]);
  // It stands beside the row it is about.
  const [row, words] = await Promise.all([
    page.locator('[data-row=fixed-window]').boundingBox(),
    callout.boundingBox(),
  ]);
  expect(words!.y).toBeGreaterThanOrEqual(row!.y - 2);
  expect(words!.y).toBeLessThan(row!.y + row!.height);
  expect(await page.locator('.row.pointed-at').getAttribute('data-row')).toBe('fixed-window');
  await callout.getByRole('button', { name: '1', exact: true }).click();
  await callout.filter({ hasText: 'You say 1. Watch what happens.' }).waitFor();
  await callout.filter({ hasText: 'You said 1, and it is 10. 20 requests in 0.77 s, where 10 were meant.' }).waitFor();
  expect(await inLab(page, (lab) => [lab.now, lab.player!.isHeld])).toEqual([10_350, true]);
});

test('a story can be replayed, paused where it stands, and followed by the next', async () => {
  const page = await open('#/?story=smooth-webhooks');
  await untilTraced(page, 0);
  await toTheEnd(page);
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.waitForFunction(() => !globalThis.sluiceLab!.lab.isOver && globalThis.sluiceLab!.lab.playing);
  expect(await inLab(page, (lab) => lab.story?.id)).toBe('smooth-webhooks');
  await toTheEnd(page);
  await page.getByRole('button', { name: 'Next: Login guessing' }).click();
  await page.waitForFunction(() => globalThis.sluiceLab!.lab.story?.id === 'login-guessing');
  await expect.poll(() => page.title()).toContain('Sluice');
});

test('requests of your own end a story that is being told, and the page says so', async () => {
  const page = await open('');
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await page.getByText('You sent requests of your own').waitFor();
  expect(await page.locator('.pill[aria-pressed=true]').count()).toBe(0);
});

test('a shared story keeps what was changed in it, in a browser that was never here', async () => {
  const page = await open('#/?story=boundary-burst&fixed-window=limit:3');
  await toTheEnd(page);
  const promised = STORY_COUNTS['boundary-burst']!;
  await expect
    .poll(() => shownCounts(page))
    .toEqual({
      ...Object.fromEntries(Object.entries(promised).map(([id, counts]) => [id, counts[0]])),
      'fixed-window': { allowed: 6, delayed: 0, denied: 14 },
    });
  expect(await caption(page).textContent()).toContain('a fixed window allowed 6 of 20');
  expect(await page.locator('[data-row=fixed-window] .tag').textContent()).toBe('own numbers');
});

test('after a story and a reset, time goes on', async () => {
  const page = await open('');
  await toTheEnd(page);
  await page.getByRole('button', { name: 'Reset all counters' }).click();
  await page.getByLabel('Speed').press('End');
  await page.getByRole('button', { name: 'Burst 10' }).click();
  // The numbers are written ten times a second: first they show the burst, and then that all of it has come back.
  await expect
    .poll(async () => (await shownCounts(page))['token-bucket'])
    .toEqual({ allowed: 10, delayed: 0, denied: 0 });
  await expect.poll(() => page.locator('[data-row="token-bucket"]').getAttribute('data-remaining')).toBe('10');
});

test('a story in real time, on Redis: when it begins, and the counts it is told for, unless it was late and says so', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Redis', exact: true }).click();
  await page.getByRole('button', { name: PLANS[0]!.title, exact: true }).click();
  const notice = page.locator('[data-notice]');
  await expect
    .poll(() => notice.textContent())
    // On a busy machine it may have begun, and be late, before anybody has looked.
    .toMatch(/^In real time: it begins in \d+\.\d s, with a window of the clock\.$|^Decided up to \d+ ms late/);
  await page.waitForFunction(() => globalThis.sluiceLab!.lab.trace.length === 20, undefined, { timeout: 40_000 });
  const promised = Object.fromEntries(
    Object.entries(STORY_COUNTS[PLANS[0]!.id]!).map(([id, counts]) => [id, counts[0]]),
  );
  await expect
    .poll(async () => ({ counts: await shownCounts(page), wasLate: /late/.test((await notice.textContent())!) }))
    .toSatisfy(({ counts, wasLate }) => wasLate || isDeepStrictEqual(counts, promised));
});

test('with reduced motion a story is shown as it ends, and the numbers are the same', async () => {
  const page = await open('', { reducedMotion: 'reduce' });
  for (const plan of PLANS.slice(0, 4)) {
    await page.getByRole('button', { name: plan.title, exact: true }).click();
    await page.waitForFunction((id) => {
      const { story, isOver } = globalThis.sluiceLab!.lab;
      return story?.id === id && isOver;
    }, plan.id);
    const promised = Object.entries(STORY_COUNTS[plan.id]!).map(([id, counts]) => [id, counts[0]]);
    await expect.poll(() => shownCounts(page)).toEqual(Object.fromEntries(promised));
    expect(await inLab(page, (lab) => [lab.now, lab.playing])).toEqual([plan.make(INITIAL_SETUP.limit).end, false]);
  }
});

test('embedded in an article there is the story, its rows and its buttons, and nothing else', async () => {
  const page = await open('#/?embed=idle-then-burst', { viewport: { width: 900, height: 640 } });
  await page.locator('[data-row=gcra]').waitFor();
  expect(await page.locator('.top, .story-bar, .engine').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Replay' }).isVisible()).toBe(true);
  expect(await page.title()).toBe('Idle, then a burst · Sluice');
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight]);
  expect(content! - screen!).toBeLessThanOrEqual(40);
});
