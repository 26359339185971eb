/** The backtest page in a real Chromium: a log is read in the browser, a slider decides it again, and nothing is sent anywhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { tokenBucket } from 'sluice';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../../tools/browser.ts';
import { backtest } from '../../../server/src/log-files/backtest.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import { type OpenPage, openPage } from './open-page.ts';

let browser: Browser;
let server: ServingProcess;
const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), serve([])]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const open = (): Promise<OpenPage> => openPage(browser, server.url, '#/backtest', {});
const numbersOf = async (page: Page): Promise<{ denied: number; clientsDenied: number }> => {
  const { denied, clientsDenied } = await page
    .locator('.backtest-numbers')
    .evaluate((element) => ({ ...(element as HTMLElement).dataset }));
  return { denied: Number(denied), clientsDenied: Number(clientsDenied) };
};

/** Lines of a few hundred clients, and some that nobody can read. */
function logText(lines: number): string {
  return Array.from({ length: lines }, (_, index) => {
    const second = Math.floor(index / 50);
    const time = `${String(Math.floor(second / 3600)).padStart(2, '0')}:${String(Math.floor(second / 60) % 60).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}`;
    const client = (index * index) % 251;
    if (index % 5000 === 4999) return '<b>broken</b>';
    return `10.0.0.${client} - - [17/May/2026:${time} +0000] "GET /p/${index % 9} HTTP/1.1" 200 1`;
  }).join('\n');
}

test('a log that is dropped in: counts are those of the command, the slider decides again, nothing leaves the browser', async () => {
  const file = join(folder, 'access.log.gz');
  writeFileSync(file, gzipSync(logText(100_000)));
  const { page, complaints, foreign, close } = await open();
  const sent: string[] = [];
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  await page.locator('input[type=file]').setInputFiles(file);
  await page.locator('[data-facts]').waitFor();
  expect(await page.locator('[data-facts]').textContent()).toContain('99,980 requests from');
  // What it cannot read it says.
  await page.getByText('20 lines could not be read').click();
  await page.getByText('line 5000 is cut off').waitFor();

  for (const [step, capacity] of [
    [4, 5],
    [9, 10],
  ] as const) {
    await page.locator('input[name=capacity]').fill(String(step));
    await page.getByText(`capacity ${capacity}`, { exact: true }).waitFor();
    const { policies } = await backtest([file], { policies: [tokenBucket({ capacity, refillRate: 1 })] });
    const [{ denied, clientsDenied }] = policies as [(typeof policies)[0]];
    await expect.poll(() => numbersOf(page), { timeout: 60_000 }).toEqual({ denied, clientsDenied });
  }
  expect({ complaints, foreign, sent }).toEqual({ complaints: [], foreign: [], sent: [] });
  await close();
});

test('the sample: one click, its burst curve to choose from, its course under the pointer', async () => {
  const { page, complaints, close } = await open();
  await page.getByRole('button', { name: 'Try a sample log' }).click();
  await page.locator('.backtest-numbers').waitFor();
  await page.locator('.backtest-curve circle.knee').click();
  await expect.poll(async () => (await numbersOf(page)).clientsDenied, { timeout: 60_000 }).toBe(0);
  await page.locator('input[name=capacity]').fill('0');
  await expect.poll(async () => (await numbersOf(page)).denied, { timeout: 60_000 }).toBeGreaterThan(100);
  expect(await page.locator('.backtest-lists tbody tr').first().textContent()).toMatch(/198\.51\.100\.|192\.0\.2\.66/);
  await page.locator('.backtest-course svg').hover();
  await page.getByText(/UTC: [\d,]+ came, [\d,]+ allowed/).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('what is no log is said, and the next one is read', async () => {
  const { page, complaints, close } = await open();
  const file = join(folder, 'tale.txt');
  writeFileSync(file, 'Once upon a time\nthere was a log\n');
  await page.locator('input[type=file]').setInputFiles(file);
  await page.getByRole('alert').filter({ hasText: 'the format is not known' }).waitFor();
  await page.getByRole('button', { name: 'Try a sample log' }).click();
  await page.locator('.backtest-numbers').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('another client, another algorithm: the log is read again, and every choice of a policy is there', async () => {
  const { page, complaints, close } = await open();
  await page.getByRole('button', { name: 'Try a sample log' }).click();
  await page.locator('.backtest-numbers').waitFor();
  await page.locator('input[name=key]').fill('everyone');
  await page.locator('input[name=key]').press('Enter');
  await expect.poll(() => page.locator('[data-facts]').textContent(), { timeout: 60_000 }).toContain('from 1 clients');
  // A log does not say when requests ended.
  expect(await page.locator('.backtest-fields option:disabled').allTextContents()).toEqual(['concurrency']);
  await page.locator('.backtest-fields select').first().selectOption('calendar-quota');
  await page.locator('select[name=every]').selectOption('hour');
  await expect.poll(async () => (await numbersOf(page)).denied, { timeout: 60_000 }).toBe(16_965 - 60);
  expect(complaints).toEqual([]);
  await close();
});

test('what is packed in another way gets a sentence with the cure', async () => {
  const { page, close } = await open();
  const file = join(folder, 'access.log.zst');
  writeFileSync(file, Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3, 4, 5]));
  await page.locator('input[type=file]').setInputFiles(file);
  await page.getByText('packed with zstd, and only gzip is read. Convert it on the way: zstd -dc').waitFor();
  await close();
});
