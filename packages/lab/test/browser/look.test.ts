/** How the pages look, as far as that can be measured: what is inside the screen, what can be read, and what is named. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Bench, type OpenPage, openBench, untilTraced } from './open-page.ts';

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

test('all seven rows are inside a screen of 1280 x 720, and so are the controls', async () => {
  for (const hash of ['', QUIET, '#/?traffic=poisson&rate=40']) {
    const page = await open(hash, { viewport: { width: 1280, height: 720 } });
    await page.locator('[data-row=gcra]').waitFor();
    const boxes = await page.$$eval('.row, .controls, .caption, .story-bar', (found) =>
      found.map((element) => {
        const { top, bottom, left, right } = element.getBoundingClientRect();
        return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && bottom > top;
      }),
    );
    expect(boxes).toHaveLength(10);
    expect(boxes.every(Boolean)).toBe(true);
    // Every row has its picture, its lane and its numbers.
    const sizes = await page.$$eval('.row .picture', (found) => found.map(({ clientWidth }) => clientWidth));
    expect(sizes).toHaveLength(7);
    for (const width of sizes) expect(width).toBeGreaterThan(120);
    expect(await page.locator('canvas.lanes').evaluate(({ clientWidth }) => clientWidth)).toBeGreaterThan(500);
    // And nothing has to be scrolled.
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(720);
  }
});

test('on a phone of 390 x 844 all lanes are inside the screen, above the controls', async () => {
  for (const hash of [QUIET, '#/?traffic=poisson&rate=40', '#/?story=idle-then-burst']) {
    const page = await open(hash, { viewport: { width: 390, height: 844 }, hasTouch: true });
    await page.locator('[data-row=gcra]').waitFor();
    if (hash.includes('story')) await page.getByRole('button', { name: 'Next', exact: true }).click();
    const [lanes, controls] = await Promise.all(
      ['canvas.lanes', '.controls'].map((selector) => page.locator(selector).boundingBox()),
    );
    expect(controls!.y + controls!.height).toBeLessThanOrEqual(844);
    expect(lanes!.y).toBeGreaterThanOrEqual(0);
    expect(lanes!.y + lanes!.height).toBeLessThanOrEqual(controls!.y + 1);
    for (const name of ['Send', 'Burst 10']) {
      expect(await page.getByRole('button', { name, exact: true }).isVisible()).toBe(true);
    }
  }
});

const WIDTHS = [320, 390, 768, 1280, 1440].flatMap((width) =>
  ['#/', '#/?traffic=steady&row=token-bucket&tab=code', '#/choose', '#/backtest', '#/live'].map((hash) => ({
    hash,
    width,
  })),
);

test.each(WIDTHS)('$hash fits into $width pixels', async ({ hash, width: screen }) => {
  const page = await open(hash, { viewport: { width: screen, height: 844 } });
  await page.waitForSelector('h1');
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect([content, width]).toEqual([screen, screen]);
});

test('at 200 % zoom everything is there, by scrolling one way only', async () => {
  const page = await open(QUIET, { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(640);
  for (const id of ['fixed-window', 'leaky-bucket-shaping']) {
    await page.locator(`[data-row=${id}]`).scrollIntoViewIfNeeded();
    expect(await page.locator(`[data-row=${id}]`).isVisible()).toBe(true);
  }
  // The controls do not cover half of the screen.
  expect((await page.locator('.controls').boundingBox())!.height).toBeLessThan(120);
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

test("the font is the page's own, on a machine that has none of it", async () => {
  const page = await open(QUIET);
  await page.evaluate(() => document.fonts.ready);
  const loaded = await page.evaluate(() => [...document.fonts].map(({ family, status }) => [family, status]));
  expect(loaded).toEqual([['Inter', 'loaded']]);
  // Digits of one width, so that numbers do not jump.
  const widths = await page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement('span'));
    probe.className = 'numeric';
    return ['1111', '8888'].map((text) => {
      probe.textContent = text;
      return probe.getBoundingClientRect().width;
    });
  });
  expect(widths[0]).toBeCloseTo(widths[1]!, 3);
});

test('each page and each story has a title of its own', async () => {
  const titles = [];
  for (const hash of ['#/', '#/choose', '#/backtest', '#/live', '#/?story=login-guessing']) {
    const page = await open(hash);
    await expect.poll(() => page.title()).toMatch(/ · Sluice$/);
    titles.push(await page.title());
  }
  expect(new Set(titles).size).toBe(5);
  expect(titles[4]).toBe('Login guessing · Sluice');
});

test('every control has a name, and every picture says what it shows', async () => {
  for (const hash of ['#/?traffic=manual&row=fixed-window', '#/choose', '#/backtest', '#/live']) {
    const page = await open(hash);
    await page.waitForSelector('h1');
    const nameless = await page.$$eval('button, input, select, canvas', (elements) =>
      elements
        .filter((element) => {
          const labels = (element as HTMLInputElement).labels?.length ?? 0;
          return labels === 0 && !element.ariaLabel && !element.textContent?.trim();
        })
        .map(({ outerHTML }) => outerHTML),
    );
    expect(nameless).toEqual([]);
  }
  const page = await open(QUIET);
  await expect
    .poll(() => page.locator('[data-row="gcra"] canvas').getAttribute('aria-label'))
    .toBe('GCRA: 10 of 10 left');
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test.each([
    '#/?traffic=steady&rate=200&row=gcra',
    '#/?traffic=steady&row=token-bucket&tab=code',
    '#/?story=boundary-burst',
    '#/choose?bursts=yes',
    '#/live',
  ])('every text of %s can be read', async (hash) => {
    const page = await open(hash, { colorScheme });
    if (hash.includes('rate=')) await untilTraced(page, 40);
    if (hash.includes('story')) await page.locator('[data-callout]').waitFor();
    await page.waitForSelector('h1');
    expect(await page.evaluate(faintTexts)).toEqual([]);
  });
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

test('where colours are forced, pictures are no blocks and what is chosen can be seen', async () => {
  const page = await open('#/?traffic=poisson&rate=40', { forcedColors: 'active' });
  await untilTraced(page, 30);
  await page.getByRole('button', { name: 'Pause' }).click();
  const shares = await page.$$eval('canvas', (canvases) =>
    canvases.map((canvas) => {
      const { width, height } = canvas as HTMLCanvasElement;
      const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })!;
      copy.drawImage(canvas as HTMLCanvasElement, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      let dark = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3]! > 200 && data[at]! + data[at + 1]! + data[at + 2]! < 90) dark += 1;
      }
      return dark / (width * height);
    }),
  );
  // Lines, texts and marks: nowhere near a block.
  expect(shares).toHaveLength(8);
  for (const share of shares) expect(share).toBeLessThan(0.15);
  await page.getByRole('button', { name: 'Twice the limit', exact: true }).click();
  await page.locator('.pill[aria-pressed=true]').waitFor();
  const chosen = await page.$$eval('.tabs a, .pill, .segments button', (found) =>
    found.map((element) => {
      const isChosen = element.ariaPressed === 'true' || element.hasAttribute('aria-current');
      return [isChosen, getComputedStyle(element).borderTopWidth] as const;
    }),
  );
  const widths = (isChosen: boolean) => new Set(chosen.filter(([is]) => is === isChosen).map(([, width]) => width));
  expect([[...widths(true)], [...widths(false)]]).toEqual([['3px'], ['1px']]);
});
