/** The chooser in a real Chromium: an answer first, made to fit by mouse and by keyboard, down to the lab with the policy it chose. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../../tools/browser.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import measured from '../../src/model/choose/measured.json' with { type: 'json' };
import { KINDS } from '../../src/model/kinds/index.ts';
import { inLab, type OpenPage, openPage } from './open-page.ts';

let browser: Browser;
let server: ServingProcess;
beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), serve([])]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (options: Parameters<typeof openPage>[3] = {}, hash = '#/choose'): Promise<OpenPage> =>
  openPage(browser, server.url, hash, options);

const answer = (page: Page, id: string, value: string) => page.locator(`input[name=${id}][value=${value}]`).check();
const panelOf = (page: Page) => page.getByRole('region', { name: 'Recommendation' });
const codeOf = (page: Page) => panelOf(page).locator('[data-file="server.ts"] code');

test('a default first; answers make it fit, stay in the address, and lead into the lab with one limit for all rows', async () => {
  const { page, complaints, foreign, close } = await open();
  const panel = panelOf(page);
  expect(await panel.getByRole('heading', { level: 2 }).textContent()).toBe('Sliding window counter');
  expect(await codeOf(page).textContent()).toContain(
    "policy: slidingWindowCounter({ limit: 100, window: '1m' }),\n});",
  );
  await answer(page, 'bursts', 'yes');
  await answer(page, 'servers', 'many');
  expect(await panel.getByRole('heading', { level: 2 }).textContent()).toBe('Token bucket');
  expect(await panel.locator('.reasons li').count()).toBeGreaterThan(2);
  expect(await codeOf(page).textContent()).toContain(
    "policy: tokenBucket({ capacity: 20, refillRate: '100/m' }),\n  store: redisStore(client),\n",
  );
  await page.getByLabel('Allow').fill('30');
  await page.getByLabel('per', { exact: true }).selectOption('second');
  await page.getByLabel('at the same moment').fill('5');
  await expect.poll(() => codeOf(page).textContent()).toContain('tokenBucket({ capacity: 5, refillRate: 30 })');
  expect(await page.evaluate(() => location.hash)).toBe('#/choose?bursts=yes&servers=many&limit=30/1s&capacity=5');

  await page.getByLabel('Allow').fill('0');
  await page.getByRole('alert').filter({ hasText: 'whole number from 1' }).waitFor();
  await page.getByLabel('Allow').fill('30');
  await panel.getByRole('link', { name: 'See it in the lab' }).click();
  await page.locator('[data-sheet=token-bucket]').waitFor();
  expect(await inLab(page, (lab) => lab.limit)).toEqual({ units: 30, window: 1_000, burst: 6 });
  expect(await page.locator('.row .tag').count()).toBe(0);
  // Back, the answers are as they were.
  await page.goBack();
  await page.locator('[data-recommended=token-bucket]').waitFor();
  expect(await page.locator('input[name=servers][value=many]').isChecked()).toBe(true);
  expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
  await close();
});

test('an answer that is changed takes back what hung on it, and all of them can be taken back', async () => {
  const { page, close } = await open({}, '#/choose?exactness=exact&clients=many');
  expect(await page.locator('[data-recommended]').getAttribute('data-recommended')).toBe('sliding-window-log');
  await answer(page, 'protects', 'backend');
  expect(await page.locator('.question legend').allTextContents()).toEqual([
    'What should happen to requests above the limit?',
    'How many servers enforce it?',
  ]);
  expect(await page.locator('[data-recommended]').getAttribute('data-recommended')).toBe('leaky-bucket-shaping');
  expect(await codeOf(page).textContent()).toContain("key: () => 'backend'");
  await page.getByRole('button', { name: 'Start over' }).click();
  expect(await page.locator('[data-recommended]').getAttribute('data-recommended')).toBe('sliding-window-counter');
  expect(await page.evaluate(() => location.hash)).toBe('#/choose');
  await close();
});

test("the winner and the next best are compared on one's own numbers, with the traffic that is worst for each", async () => {
  const { page, close } = await open({}, '#/choose?exactness=calendar&limit=50/1h');
  const rows = page.getByRole('table', { name: 'The worst case of both with your numbers' }).locator('tbody tr');
  await expect
    .poll(() =>
      rows.evaluateAll((found) => found.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))),
    )
    .toEqual([
      ['100', '51'],
      ['100', '100'],
      ['50', '50'],
      ['60 min', '60 min'],
    ]);
  await close();
});

test('works by keyboard alone', async () => {
  const { page, close } = await open();
  await page.locator('input[name=bursts]').first().focus();
  await page.keyboard.press('Space');
  await page.locator('input[name=clients]').first().focus();
  await page.keyboard.press('ArrowRight');
  expect(await page.locator('[data-recommended]').getAttribute('data-recommended')).toBe('gcra');
  await close();
});

test('the table says what was measured, for all seven', async () => {
  const { page, close } = await open();
  const rows = page.getByRole('table', { name: 'All seven, measured' }).locator('tbody tr');
  const shown = await rows.evaluateAll((found) =>
    found.map((row) => [
      (row as HTMLElement).dataset.algorithm,
      ...[...row.querySelectorAll('.against')].map((cell) => Number(cell.textContent)),
    ]),
  );
  const numbers = measured.algorithms as Record<string, { boundary: number; worst: number }>;
  expect(shown).toEqual(KINDS.map(({ id }) => [id, numbers[id]!.boundary, numbers[id]!.worst]));
  await close();
});

test('fits a telephone', async () => {
  const { page, complaints, close } = await open(
    { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
    '#/choose?bursts=yes&servers=many',
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(complaints).toEqual([]);
  await close();
});
