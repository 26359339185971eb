/** The lanes, pixel by pixel: every mark is an answer of the library, at its instant, at every zoom. */
import { checkPolicy, createLimiter, manualClock, memoryStore } from 'sluice';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Bench, inLab, type OpenPage, openBench, untilTraced } from './open-page.ts';

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
const pause = (page: OpenPage['page']) => page.getByRole('button', { name: 'Pause' }).click();

test('marks in the lanes are the answers of the library to the same requests', async () => {
  const page = await open('#/?traffic=poisson&rate=120&seed=5&speed=10');
  await untilTraced(page, 150);
  await pause(page);
  await page.waitForFunction(() => {
    const { lanes, trace } = globalThis.sluiceLab!.lab;
    return Object.values(lanes!.gcra!).reduce((sum, count) => sum + count) === trace.length;
  });
  const { times, marks, policies } = await inLab(page, (lab) => ({
    times: Array.from(lab.trace.at.slice(0, lab.trace.length)),
    marks: lab.lanes!,
    policies: Object.fromEntries(lab.rows.map(({ id, charges }) => [id, charges[0]!.policy])),
  }));
  const clock = manualClock(0);
  for (const [id, policy] of Object.entries(policies)) {
    const limiter = createLimiter({ policy: checkPolicy(policy), store: memoryStore({ clock }) });
    const counts = { allowed: 0, delayed: 0, denied: 0 };
    for (const at of times) {
      clock.set(at);
      const { allowed, delay } = await limiter.attempt('client');
      counts[allowed ? (delay === null ? 'allowed' : 'delayed') : 'denied'] += 1;
    }
    expect({ id, ...marks[id] }).toEqual({ id, ...counts });
  }
});

test('every mark stands at its instant, at every zoom, as a shape and as a bar', async () => {
  const page = await open(QUIET);
  await pause(page);
  const times = await inLab(page, async (lab) => {
    const gaps = [431, 12, 9, 1_733, 3_050, 250, 25, 25, 25, 2_600, 0.5, 7_111];
    for (const gap of gaps) {
      await lab.advance(gap);
      await lab.send(gap === 3_050 ? 25 : 1);
    }
    // The last mark is not to lie below the line of now.
    await lab.advance(1_500);
    return Array.from(lab.trace.at.slice(0, lab.trace.length));
  });
  expect(times).toHaveLength(36);
  const zoomed = async (name: string, clicks: number): Promise<number> => {
    const before = await inLab(page, (lab) => lab.shown!.span);
    for (let click = 0; click < clicks; click += 1) await page.getByRole('button', { name }).click();
    const wanted = before * 1.6 ** (name === 'Show more time' ? clicks : -clicks);
    await expect.poll(() => inLab(page, (lab) => lab.shown!.span)).toBeCloseTo(wanted, 3);
    return wanted;
  };
  const spans = [await zoomed('Show less time', 4)];
  await expectTrue(page, times);
  for (const clicks of [2, 2, 2, 3]) {
    spans.push(await zoomed('Show more time', clicks));
    await expectTrue(page, times);
  }
  expect(spans.map((span) => Math.round(span / 1000))).toEqual([5, 14, 36, 92, 377]);
});

/** Within a pixel there is a mark wherever there should be one; and nowhere else is any. */
async function expectTrue(page: OpenPage['page'], times: readonly number[]): Promise<void> {
  await expect.poll(async () => (await misplaced(page, times)).missing).toEqual([]);
  expect((await misplaced(page, times)).astray).toEqual([]);
}

interface Misplaced {
  readonly missing: { lane: number; x: number }[];
  readonly astray: { lane: number; x: number }[];
}

async function misplaced(page: OpenPage['page'], times: readonly number[]): Promise<Misplaced> {
  const { from, span } = await inLab(page, (lab) => lab.shown!);
  const { lanes, width } = await markColumns(page);
  const expected = times.map((time) => ((time - from) / span) * width).filter((x) => x >= 0 && x < width);
  return {
    missing: lanes.flatMap((columns, lane) =>
      expected.filter((x) => !columns.some((column) => Math.abs(column + 0.5 - x) <= 1)).map((x) => ({ lane, x })),
    ),
    // Further from every instant than a mark is wide.
    astray: lanes.flatMap((columns, lane) =>
      columns.filter((column) => !expected.some((x) => Math.abs(column + 0.5 - x) <= 4)).map((x) => ({ lane, x })),
    ),
  };
}

/** Columns with a colour that only marks have, in the lower half of each lane but that of the queue, whose slots are marks too. */
async function markColumns(page: OpenPage['page']): Promise<{ lanes: number[][]; width: number }> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('canvas.lanes')!;
    const rows = document.querySelectorAll('.row').length;
    const axis = document.querySelector('.rows-head')!.clientHeight;
    const lane = (canvas.height - axis) / rows;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    const colors = ['allowed', 'denied'].map((name) => {
      const probe = document.body.appendChild(document.createElement('i'));
      probe.style.color = `var(--${name})`;
      const parts = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
      probe.remove();
      return parts;
    });
    const lanes = Array.from({ length: rows - 1 }, (_, index) => {
      const top = Math.round(axis + (index + 0.55) * lane);
      const height = Math.round(lane * 0.43);
      const { data } = copy.getImageData(0, top, canvas.width, height);
      const isMark = (at: number): boolean =>
        colors.some((color) => color.every((part, place) => Math.abs(part - data[at + place]!) < 60));
      const columns = Array.from({ length: canvas.width }, (_, x) => x);
      return columns.filter((x) =>
        Array.from({ length: height }, (_, y) => 4 * (y * canvas.width + x)).some((at) => isMark(at)),
      );
    });
    return { lanes, width: canvas.clientWidth };
  });
}

test('neither the speed nor a pause changes which time is shown', async () => {
  const page = await open('#/?traffic=poisson&rate=30');
  await untilTraced(page, 4);
  const spanShown = () => page.locator('[data-span]').textContent();
  const before = await spanShown();
  await page.getByRole('button', { name: 'Show less time' }).click();
  await expect.poll(spanShown).not.toBe(before);
  const chosen = await spanShown();
  for (const speed of [4, 20, 100, 0.1]) {
    await inLab(page, (lab, given) => lab.change({ speed: given! }), speed);
    await expect.poll(() => page.locator('.speed output').textContent()).toBe(`${speed}×`);
    expect(await spanShown()).toBe(chosen);
  }
});

test('a wheel zooms at the pointer, a drag moves the lanes, and the way back is one click', async () => {
  const page = await open('#/?traffic=steady&rate=40&speed=20');
  await untilTraced(page, 400);
  await pause(page);
  const lanes = page.locator('canvas.lanes');
  const box = (await lanes.boundingBox())!;
  const timeAt = (share: number) => inLab(page, (lab, at) => lab.shown!.from + lab.shown!.span * at!, share);
  const [before, spanBefore] = [await timeAt(0.3), await inLab(page, (lab) => lab.shown!.span)];
  await page.mouse.move(box.x + box.width * 0.3, box.y + 200);
  await page.mouse.wheel(0, -120);
  await expect.poll(() => inLab(page, (lab) => lab.shown!.span)).toBeLessThan(spanBefore);
  expect(Math.abs((await timeAt(0.3)) - before)).toBeLessThan(0.01 * spanBefore);

  const from = await inLab(page, (lab) => lab.shown!.from);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 200, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => inLab(page, (lab) => lab.shown!.from)).toBeLessThan(from);
  expect(await inLab(page, (lab) => lab.viewed)).toBeUndefined();
  await page.getByRole('button', { name: 'Follow now' }).click();
  await expect.poll(() => inLab(page, (lab) => lab.shown!.from)).toBeGreaterThan(from - 1);
});

test('the axis is the handle that looks back, and whoever looks back is told so', async () => {
  const page = await open('#/?traffic=steady&rate=40&speed=10');
  await untilTraced(page, 40);
  const box = (await page.locator('canvas.lanes').boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.1, box.y + 20, { steps: 4 });
  await page.mouse.up();
  const banner = page.getByRole('status').filter({ hasText: 'Looking at' });
  await banner.waitFor();
  const viewed = await inLab(page, (lab) => lab.viewed!);
  expect(await banner.textContent()).toContain(`Looking at ${(viewed / 1000).toFixed(2)} s`);
  await page.keyboard.press('Escape');
  await banner.waitFor({ state: 'detached' });
  const now = await inLab(page, (lab) => lab.now);
  await expect.poll(() => inLab(page, (lab) => lab.now)).toBeGreaterThan(now);
});

test('arrow keys go from request to request, and what every row said is said', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await untilTraced(page, 1);
  const lanes = page.getByRole('slider', { name: /Instant in the time line/ });
  await lanes.press('Home');
  expect(await lanes.getAttribute('aria-valuetext')).toMatch(/^Request at \S+ s: Fixed window allowed, 9 of 10 left; /);
  await expect
    .poll(() => page.locator('[data-row="gcra"] [data-status]').textContent())
    .toBe('1 of 10 in 10 s, allowed');
  await pause(page);
  await lanes.press('Home');
  await lanes.press('Enter');
  await expect
    .poll(() => inLab(page, (lab) => lab.viewed ?? lab.now))
    .toBe(await inLab(page, (lab) => lab.trace.at[0]!));
});
