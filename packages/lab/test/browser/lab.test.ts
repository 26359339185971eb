/** The lab as people use it: clicked through in a real Chromium. */
import { isDeepStrictEqual } from 'node:util';
import { createLimiter, manualClock, memoryStore } from 'sluice';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CARD_IDS, CARDS } from '../../src/cards/catalog.ts';
import type { Counts } from '../../src/engine/trace.ts';
import { PRESETS } from '../../src/presets/presets.ts';
import { PRESET_COUNTS } from '../preset-counts.ts';
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

test('each story ends with the promised counts, on the cards and in the lanes', async () => {
  const page = await open(QUIET);
  for (const { id: story, title, story: words, clients } of PRESETS) {
    await page.getByRole('button', { name: title }).click();
    await page.getByLabel('Speed').press('End');
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
    expect(await page.locator('.story').textContent()).toBe(words);
    for (const [client, name] of clients.entries()) {
      if (clients.length > 1) await page.getByRole('button', { name, exact: true }).click();
      const promised = Object.fromEntries(CARD_IDS.map((id) => [id, PRESET_COUNTS[story][id][client]]));
      await expect.poll(() => shownCounts(page), { message: `${title}, ${name}` }).toEqual(promised);
    }
    const marks = Object.fromEntries(CARD_IDS.map((id) => [id, marksOf(PRESET_COUNTS[story][id])]));
    await page.locator('.lanes canvas').scrollIntoViewIfNeeded();
    await expect.poll(() => inLab(page, (lab) => lab.lanes), { message: title }).toEqual(marks);
  }
});

/** Marks of all clients: what was delayed has a mark of its own. */
function marksOf(counts: readonly Counts[]): Counts {
  const sum = (name: keyof Counts): number => counts.reduce((all, one) => all + one[name], 0);
  return { allowed: sum('allowed') - sum('delayed'), delayed: sum('delayed'), denied: sum('denied') };
}

test('marks in the lanes are the answers of the library to the same requests', async () => {
  const page = await open('#/?traffic=poisson&rate=12&seed=5&speed=10');
  await untilTraced(page, 150);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.lanes canvas').scrollIntoViewIfNeeded();
  await page.waitForFunction(() => {
    const { lanes, trace } = globalThis.sluiceLab!.lab;
    return Object.values(lanes!.gcra).reduce((sum, count) => sum + count) === trace.length;
  });
  const { times, marks, policies } = await inLab(page, (lab) => ({
    times: Array.from(lab.trace.at.slice(0, lab.trace.length)),
    marks: lab.lanes!,
    policies: lab.policies,
  }));
  const clock = manualClock(0);
  for (const id of CARD_IDS) {
    const limiter = createLimiter({ policy: policies[id], store: memoryStore({ clock }) });
    const counts = { allowed: 0, delayed: 0, denied: 0 };
    for (const at of times) {
      clock.set(at);
      const { allowed, delay } = await limiter.attempt('client');
      counts[allowed ? (delay === null ? 'allowed' : 'delayed') : 'denied'] += 1;
    }
    expect({ id, ...marks[id] }).toEqual({ id, ...counts });
  }
});

test('a mark is a mark on the canvas: allowed in its colour, denied in another', async () => {
  const page = await open('#/?traffic=manual&fixed-window=limit:1');
  await page.locator('.lanes canvas').scrollIntoViewIfNeeded();
  const painted = () => page.evaluate(findMarkColors);
  await page.getByRole('button', { name: 'Pause' }).click();
  expect(await painted()).toEqual({ allowed: false, denied: false });
  await page.getByRole('button', { name: 'Send request' }).click();
  await expect.poll(painted).toEqual({ allowed: true, denied: false });
  await page.getByRole('button', { name: 'Send request' }).click();
  await expect.poll(painted).toEqual({ allowed: true, denied: true });
});

/** Whether the colours of marks are in the lower half of the first lane, below its curve. Runs in the page. */
function findMarkColors(): { allowed: boolean; denied: boolean } {
  const canvas = document.querySelector<HTMLCanvasElement>('.lanes canvas')!;
  const lane = (canvas.height - 26) / 7;
  // A copy, so that the page's own canvas stays one that is only painted on.
  const copy = new OffscreenCanvas(canvas.width, lane * 0.4).getContext('2d', { willReadFrequently: true })!;
  copy.drawImage(canvas, 0, -(26 + lane * 0.55));
  const { data } = copy.getImageData(0, 0, canvas.width, lane * 0.4);
  const has = (name: string): boolean => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = `var(--${name})`;
    const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
    probe.remove();
    for (let at = 0; at < data.length; at += 4) {
      const apart = Math.abs(data[at]! - red!) + Math.abs(data[at + 1]! - green!) + Math.abs(data[at + 2]! - blue!);
      if (data[at + 3] === 255 && apart < 60) return true;
    }
    return false;
  };
  return { allowed: has('allowed'), denied: has('denied') };
}

test('a burst of the chosen size at the chosen cost, and a reset that clears everything', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByLabel('Requests in a burst').fill('7');
  await page.getByLabel('cost').fill('2');
  await page.getByRole('button', { name: 'Burst 7' }).click();
  const bursts = Object.fromEntries(CARD_IDS.map((id) => [id, { allowed: 5, delayed: 0, denied: 2 }]));
  await expect
    .poll(() => shownCounts(page))
    .toEqual({ ...bursts, 'leaky-bucket-shaping': { allowed: 5, delayed: 4, denied: 2 } });
  expect(await page.locator('[data-announcer]').textContent()).toContain('7 requests: Fixed window 5 of 7; ');
  await page.getByRole('button', { name: 'Reset all' }).click();
  const nothing = Object.fromEntries(CARD_IDS.map((id) => [id, { allowed: 0, delayed: 0, denied: 0 }]));
  await expect.poll(() => shownCounts(page)).toEqual(nothing);
  expect(await inLab(page, (lab) => lab.trace.length)).toBe(0);
  await expect.poll(() => page.locator('[data-remaining]').allTextContents()).toEqual(CARD_IDS.map(() => '10'));
  await page.locator('.lanes canvas').scrollIntoViewIfNeeded();
  await expect.poll(() => inLab(page, (lab) => lab.lanes)).toEqual(nothing);
});

test('a shared address restores the set-up', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Settings of Fixed window' }).click();
  await page.getByLabel('Limit').fill('25');
  await page.getByLabel('Window', { exact: true }).fill('1m');
  await page.getByRole('combobox', { name: 'Traffic' }).selectOption('ramp');
  await page.getByLabel('a second').fill('3.5');
  await page.getByLabel('Requests in a burst').fill('12');
  await page.getByLabel('Speed').press('ArrowRight');
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  const setup = await inLab(page, (lab) => lab.setup);
  expect(setup).toMatchObject({
    traffic: { kind: 'ramp', rate: 3.5 },
    burst: 12,
    drafts: { 'fixed-window': { limit: '25', window: '1m' } },
  });
  const other = await open(new URL(address).hash);
  expect(await inLab(other, (lab) => lab.setup)).toEqual(setup);
  expect(await other.locator('[data-card="fixed-window"] .card-summary').textContent()).toBe('25 per 1m');
  // The address itself follows as well, so that a page that is loaded again is the same one.
  await expect.poll(() => page.evaluate(() => location.href)).toBe(address);
});

test('a shared story keeps what was changed in it, in a browser that was never here', async () => {
  const page = await open('');
  await page.getByRole('button', { name: 'Settings of Fixed window' }).click();
  await page.getByLabel('Limit').fill('3');
  await page.getByLabel('Speed').press('End');
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const other = await open(new URL(await page.evaluate(() => navigator.clipboard.readText())).hash);
  await other.getByRole('button', { name: 'Play', exact: true }).waitFor();
  const promised = PRESET_COUNTS[PRESETS[0]!.id];
  for (const shown of [page, other]) {
    await expect
      .poll(() => shownCounts(shown))
      .toEqual({
        ...Object.fromEntries(CARD_IDS.map((id) => [id, promised[id][0]])),
        'fixed-window': { allowed: 6, delayed: 0, denied: 14 },
      });
  }
});

test('after a story and a reset, time goes on', async () => {
  const page = await open('');
  await page.getByLabel('Speed').press('End');
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Reset all counters' }).click();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  const left = page.locator('[data-card="token-bucket"] [data-remaining]');
  await expect.poll(() => left.textContent()).toBe('10');
  expect((await shownCounts(page))['token-bucket']).toEqual({ allowed: 10, delayed: 0, denied: 0 });
});

test('a wrong number is refused beside its field, in the words of the library, and the card goes on as it was', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Settings of Token bucket' }).click();
  await page.getByLabel('Refill rate').fill('fast');
  const note = page.getByRole('alert');
  expect(await note.textContent()).toBe(
    `token-bucket.refillRate: expected a positive number of units a second, or text such as '10/s', '600/m', '1000/h', got "fast"`,
  );
  expect(await page.getByLabel('Refill rate').getAttribute('aria-invalid')).toBe('true');
  expect(await page.locator('[data-card="token-bucket"] .card-summary').textContent()).toBe('10 at once, 1/s back');
  await page.getByLabel('Refill rate').fill('120/m');
  await note.waitFor({ state: 'detached' });
  expect(await page.locator('[data-card="token-bucket"] .card-summary').textContent()).toBe('10 at once, 2/s back');
});

test('a card as code can be copied, and its curl is answered by this very server', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'GCRA as code' }).click();
  await page.getByRole('button', { name: 'curl' }).click();
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const [, url, body] = /^curl -s (\S+) -d '(.*)'$/.exec(command)!;
  const response = await fetch(url!, { method: 'POST', body: body! });
  expect(await response.json()).toMatchObject({ allowed: true, limit: 10, remaining: 9 });
});

test('time can be stepped, looked back at and told again', async () => {
  const page = await open('#/?traffic=steady&rate=1');
  await page.getByRole('button', { name: 'Pause' }).click();
  const before = await inLab(page, (lab) => lab.trace.length);
  for (let step = 0; step < 4; step += 1) await page.getByRole('button', { name: 'Step to the next request' }).click();
  await expect.poll(() => inLab(page, (lab) => lab.trace.length)).toBe(before + 4);
  // The texts follow ten times a second.
  await expect
    .poll(async () => {
      const { allowed, denied } = (await shownCounts(page))['token-bucket']!;
      return allowed + denied;
    })
    .toBe(before + 4);
  const now = await shownCounts(page);
  await page.getByLabel('Look back').press('Home');
  await expect
    .poll(async () => (await shownCounts(page))['token-bucket'])
    .toEqual({ allowed: 1, delayed: 0, denied: 0 });
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect.poll(() => shownCounts(page)).toEqual(now);
});

describe.each(['Server memory', 'Redis'])('on the engine %s', (engine) => {
  // Nothing comes back while the test looks.
  const slow =
    '&fixed-window=window:1h&sliding-window-log=window:1h&sliding-window-counter=window:1h&token-bucket=refillRate:0.01' +
    '&leaky-bucket-policing=leakRate:0.01&leaky-bucket-shaping=leakRate:0.01&gcra=period:1h';

  test('the server decides, and the store can be seen', async () => {
    const page = await open(QUIET + slow);
    await page.getByRole('button', { name: engine }).click();
    await page.getByLabel('Requests in a burst').fill('12');
    await page.getByRole('button', { name: 'Burst 12' }).click();
    const all = Object.fromEntries(CARD_IDS.map((id) => [id, { allowed: 10, delayed: 0, denied: 2 }]));
    await expect
      .poll(() => shownCounts(page), { timeout: 10_000 })
      .toEqual({ ...all, 'leaky-bucket-shaping': { allowed: 10, delayed: 9, denied: 2 } });
    const raw = page.locator('[data-raw="token-bucket"]');
    await expect.poll(() => raw.textContent()).toMatch(/client/);
    expect(await raw.textContent()).toMatch(
      engine === 'Redis' ? /TTL(9\d\d|1000)\.\d+ s.*memory\d+ bytes.*commands[1-9]/ : /commandsnone/,
    );
    await page.getByRole('button', { name: 'Reset all' }).click();
    await expect.poll(async () => (await shownCounts(page)).gcra).toEqual({ allowed: 0, delayed: 0, denied: 0 });
    await page.getByRole('button', { name: 'Send request' }).click();
    await expect.poll(() => page.locator('[data-card="gcra"] [data-remaining]').textContent()).toBe('9');
  });
});

test('a story in real time, on Redis: when it begins, and the counts it is told for, unless it was late and says so', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Redis' }).click();
  await page.getByRole('button', { name: PRESETS[0]!.title }).click();
  const notice = page.locator('[data-notice]');
  await expect
    .poll(() => notice.textContent())
    .toMatch(/^In real time: it begins in \d+\.\d s, by a window of the clock\.$/);
  await page.waitForFunction(() => globalThis.sluiceLab!.lab.trace.length === 20, undefined, { timeout: 20_000 });
  const promised = Object.fromEntries(CARD_IDS.map((id) => [id, PRESET_COUNTS[PRESETS[0]!.id][id][0]]));
  await expect
    .poll(async () => ({ counts: await shownCounts(page), wasLate: /late/.test((await notice.textContent())!) }))
    .toSatisfy(({ counts, wasLate }) => wasLate || isDeepStrictEqual(counts, promised));
});

test('everything can be reached and done by keyboard, and is said', async () => {
  const page = await open(QUIET);
  const reached: string[] = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    reached.push(
      await page.evaluate(() => {
        const { ariaLabel, textContent, id } = document.activeElement as HTMLElement;
        return ariaLabel ?? (textContent || id);
      }),
    );
  }
  for (const name of [
    'Send request',
    'Burst 10',
    'Pause',
    'Reset all counters',
    'Settings of GCRA',
    'GCRA as code',
    PRESETS[0]!.title,
  ]) {
    expect(reached).toContain(name);
  }
  await page.getByRole('button', { name: 'Send request' }).press('Enter');
  await expect
    .poll(() => page.locator('[data-announcer]').textContent())
    .toBe(`Request: ${CARDS.map(({ title }) => `${title} allowed`).join('; ')}.`);
  const lanes = page.getByRole('slider', { name: /Instant in the time line/ });
  await lanes.press('Home');
  expect(await lanes.getAttribute('aria-valuetext')).toMatch(/^Request at \S+ s: Fixed window allowed, 9 of 10 left; /);
  await expect.poll(() => page.locator('[data-readout="gcra"]').textContent()).toBe('1 / 10 in 10s, allowed');
});

test('every control has a name, and every picture says what it shows', async () => {
  const page = await open(QUIET);
  await page.getByRole('button', { name: 'Settings of Fixed window' }).click();
  const nameless = await page.$$eval('button, input, select, canvas', (elements) =>
    elements
      .filter((element) => {
        const labels = (element as HTMLInputElement).labels?.length ?? 0;
        return labels === 0 && !element.ariaLabel && !element.textContent?.trim();
      })
      .map(({ outerHTML }) => outerHTML),
  );
  expect(nameless).toEqual([]);
  await expect
    .poll(() => page.locator('[data-card="gcra"] canvas').getAttribute('aria-label'))
    .toBe('GCRA: 10 of 10 left');
});

test('light and dark: as the system has it, or as chosen, and remembered', async () => {
  const brightness = (page: OpenPage['page']) =>
    page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)![0]));
  const dark = await open(QUIET, { colorScheme: 'dark' });
  expect(await brightness(dark)).toBeLessThan(40);
  const light = await open(QUIET, { colorScheme: 'light' });
  expect(await brightness(light)).toBeGreaterThan(220);
  await light.getByRole('button', { name: 'Switch to the dark theme' }).click();
  expect(await brightness(light)).toBeLessThan(40);
  await light.reload();
  expect(await brightness(light)).toBeLessThan(40);
});

const WIDTHS = [320, 390, 768, 1440].flatMap((width) => ['#/', '#/choose', '#/live'].map((hash) => ({ hash, width })));

test.each(WIDTHS)('$hash fits into $width pixels', async ({ hash, width: screen }) => {
  const page = await open(hash, { viewport: { width: screen, height: 844 } });
  if (hash === '#/') {
    await page.getByRole('button', { name: 'Settings of Fixed window' }).click();
    await page.getByRole('button', { name: 'Token bucket as code' }).click();
  }
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect([content, width]).toEqual([screen, screen]);
});

test.each(['light', 'dark'] as const)('every text can be read in %s', async (colorScheme) => {
  for (const hash of ['#/?traffic=steady&rate=20', '#/choose', '#/live']) {
    const page = await open(hash, { colorScheme });
    if (hash.startsWith('#/?')) {
      await page.getByRole('button', { name: 'Settings of GCRA' }).click();
      await page.getByLabel('Period').fill('never');
      await page.getByRole('button', { name: 'Token bucket as code' }).click();
      await untilTraced(page, 40);
    }
    expect(await page.evaluate(faintTexts)).toEqual([]);
  }
});

/** Texts with less than the 4.5 to 1 of WCAG AA against what lies behind them. Runs in the page. */
function faintTexts(): string[] {
  const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })!;
  const over = (colors: readonly string[]): number => {
    context.clearRect(0, 0, 1, 1);
    for (const color of colors) {
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
    }
    const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const backgroundsOf = (element: Element | null): string[] =>
    element === null ? [] : [...backgroundsOf(element.parentElement), getComputedStyle(element).backgroundColor];
  const opacityOf = (element: Element | null): number =>
    element === null ? 1 : Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint: string[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement!;
    const { width, height } = element.getBoundingClientRect();
    const isSeen = node.textContent!.trim() !== '' && width > 1 && height > 1;
    if (!isSeen || element.closest('script, style, :disabled, .visually-hidden, .skip-link') !== null) continue;
    const backgrounds = backgroundsOf(element);
    const [text, behind] = [over([...backgrounds, getComputedStyle(element).color]), over(backgrounds)];
    const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (contrast < 4.5 || opacityOf(element) < 1) faint.push(`${node.textContent!.trim()}: ${contrast.toFixed(2)}`);
  }
  return [...new Set(faint)];
}

test('with reduced motion a story is shown as it ends, and the numbers are the same', async () => {
  const page = await open('', { reducedMotion: 'reduce' });
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  for (const { id: story, title, end } of PRESETS) {
    if (story !== PRESETS[0]!.id) await page.getByRole('button', { name: title }).click();
    const promised = CARD_IDS.map((id) => [id, PRESET_COUNTS[story][id][0]]);
    await expect.poll(() => shownCounts(page)).toEqual(Object.fromEntries(promised));
    expect(await inLab(page, (lab) => [lab.now, lab.playing])).toEqual([end, false]);
  }
});

test('a long run takes no more memory than a short one', async () => {
  const page = await open('#/?traffic=poisson&rate=200&speed=100');
  const client = await page.context().newCDPSession(page);
  const heapAfter = async (requests: number): Promise<number> => {
    await untilTraced(page, requests);
    await page.getByRole('button', { name: 'Pause' }).click();
    // What one collection finds unused, only the next one may free.
    const sizes: number[] = [];
    for (let collected = 0; collected < 4; collected += 1) {
      await client.send('HeapProfiler.collectGarbage');
      sizes.push((await client.send('Runtime.getHeapUsage')).usedSize);
    }
    await page.getByRole('button', { name: 'Play' }).click();
    return Math.min(...sizes);
  };
  const [short, long] = [await heapAfter(17_000), await heapAfter(27_000)];
  expect(long - short).toBeLessThan(300_000);
});
