/** The chooser in a real Chromium: answered by mouse and by keyboard, down to the lab with the policy it chose. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../../tools/browser.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import { CARD_IDS } from '../../src/cards/catalog.ts';
import measured from '../../src/chooser/measured.json' with { type: 'json' };
import { type OpenPage, openPage } from './open-page.ts';

let browser: Browser;
let server: ServingProcess;
beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), serve([])]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (options: Parameters<typeof openPage>[3] = {}): Promise<OpenPage> =>
  openPage(browser, server.url, '#/choose', { permissions: ['clipboard-read', 'clipboard-write'], ...options });

const answer = (page: Page, question: string, label: string) =>
  page
    .getByRole('group', { name: question })
    .getByRole('radio', { name: new RegExp(`^${label}`) })
    .check();

async function chooseCounter(page: Page): Promise<void> {
  await answer(page, 'Is what lies behind fragile?', 'No');
  await answer(page, 'Are bursts welcome?', 'No');
  await answer(page, 'How exact must the count be?', 'Close');
  await answer(page, 'One server or many?', 'Many');
}

test('a few answers end in a policy, its reasons and its code, and in the lab', async () => {
  const { page, complaints, foreign, close } = await open();
  expect(await page.locator('.question').count()).toBe(1);
  await chooseCounter(page);
  const panel = page.getByRole('region', { name: 'Recommendation' });
  expect(await panel.getByRole('heading').textContent()).toBe('Sliding window counter');
  expect(await panel.locator('li').count()).toBeGreaterThan(2);
  expect(await panel.locator('code').last().textContent()).toContain(
    "policy: slidingWindowCounter({ limit: 100, window: '1m' }),\n  store: redisStore(client),\n",
  );

  await panel.getByLabel('Allow').fill('30');
  await panel.getByLabel('per').selectOption('second');
  await panel.getByRole('button', { name: 'YAML' }).click();
  const yaml = await panel.locator('pre').textContent();
  expect(yaml).toContain('    algorithm: sliding-window-counter\n    limit: 30\n    window: 1s\n');
  await panel.getByRole('button', { name: 'Copy' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(yaml);

  await panel.getByLabel('Allow').fill('0');
  await panel.getByRole('alert').filter({ hasText: 'whole number from 1' }).waitFor();
  expect(await panel.locator('pre').textContent()).toBe(yaml);

  await panel.getByRole('link', { name: 'Open it in the lab' }).click();
  await page.locator('[data-card=sliding-window-counter]').waitFor();
  expect(await page.locator('[data-card=sliding-window-counter]').textContent()).toContain('30 per 1s');
  expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
  await close();
});

test('an answer that is changed takes back what hung on it', async () => {
  const { page, close } = await open();
  await chooseCounter(page);
  await answer(page, 'Is what lies behind fragile?', 'Yes');
  expect(await page.locator('.question legend').allTextContents()).toEqual([
    ...['1Is what lies behind fragile?', '2One server or many?'],
  ]);
  expect(await page.locator('[data-recommended]').getAttribute('data-recommended')).toBe('leaky-bucket-shaping');
  await close();
});

test('works by keyboard alone', async () => {
  const { page, close } = await open();
  await page.locator('.question input').first().focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
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
  expect(shown).toEqual(CARD_IDS.map((id) => [id, measured.algorithms[id].boundary, measured.algorithms[id].worst]));
  await close();
});

test('fits a telephone', async () => {
  const { page, complaints, close } = await open({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await chooseCounter(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect(complaints).toEqual([]);
  await close();
});
