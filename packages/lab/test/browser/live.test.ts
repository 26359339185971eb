/** The live view in a real Chromium, over a real server that limits real requests. */
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../../tools/browser.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import { openPage } from './open-page.ts';

const CONFIG = fileURLToPath(new URL('../../../server/examples/policies.yaml', import.meta.url));

let browser: Browser;
let servers: ServingProcess[] = [];
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
});

async function start(...args: string[]): Promise<ServingProcess> {
  const server = await serve(['--config', CONFIG, ...args]);
  servers.push(server);
  return server;
}

async function attempt(url: string, policy: string, key: string, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    await fetch(`${url}/v1/attempt`, { method: 'POST', body: JSON.stringify({ policy, key }) });
  }
}

const tile = (page: Page, name: string) => page.locator('.tile', { hasText: name }).locator('dd').first();

test('shows how to begin, and then exactly what was decided', async () => {
  const { url } = await start();
  const { page, complaints, foreign, close } = await openPage(browser, url, '#/live', {});
  await page.getByRole('heading', { name: 'No decisions in the last minute' }).waitFor();
  expect(await page.locator('.try-it pre').textContent()).toBe(
    `for i in $(seq 20); do\n  curl -s ${url}/v1/attempt -d '{"policy":"api","key":"ann"}'\ndone`,
  );

  await attempt(url, 'login', 'ann', 15);
  await attempt(url, 'daily', 'bob', 5);
  await expect.poll(() => tile(page, 'Denied share').textContent()).toBe('50.0 %');
  expect(await tile(page, 'Store, median').textContent()).toMatch(/^\d+(\.\d+)? ms$/);
  expect(await tile(page, 'Answered without the store').textContent()).toBe('0 %');
  const keys = async (title: string) =>
    page
      .getByRole('region', { name: title })
      .locator('li')
      .evaluateAll((items) =>
        items.map((item) => [...item.querySelectorAll('code, .key-policy, .numeric')].map((part) => part.textContent)),
      );
  // Half are denied at other moments, too.
  await expect
    .poll(() => keys('Busiest keys'))
    .toEqual([
      ['ann', 'login', '15'],
      ['bob', 'daily', '5'],
    ]);
  expect(await keys('Most limited keys')).toEqual([['ann', 'login', '10']]);
  const policies = page.getByRole('table', { name: 'Decisions a second by policy' }).locator('tbody tr');
  expect((await policies.evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset.policy))).sort()).toEqual(
    [...['api', 'daily', 'login', 'search']],
  );
  // Two seconds were seen at least, so that there is a course to draw.
  const drawn = () => page.locator('[data-policy=login] .rate-denied-line').getAttribute('d');
  await expect.poll(async () => (await drawn())!.split('L').length).toBeGreaterThan(2);
  expect(await page.getByRole('img', { name: /^login: / }).count()).toBe(1);
  expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
  await close();
});

test('asks for the token where there is one, says when it is wrong, and keeps it in the tab', async () => {
  const { url } = await start('--token', 'secret');
  const { page, complaints, close } = await openPage(browser, url, '#/live', {});
  await page.getByLabel('Token').fill('guess');
  await page.getByRole('button', { name: 'Look' }).click();
  await page.getByRole('alert').filter({ hasText: 'not the token' }).waitFor();
  await page.getByLabel('Token').fill('secret');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No decisions in the last minute' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'No decisions in the last minute' }).waitFor();
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  await close();
});

test('with the token the lab plays on a server that protects everything', async () => {
  const { url } = await start('--token', 'secret', '--protect', 'everything');
  const { page, complaints, close } = await openPage(browser, url, '#/?traffic=manual', {});
  await page.getByRole('button', { name: 'Server memory' }).click();
  await page.getByLabel('Token', { exact: true }).fill('guess');
  await page.getByRole('button', { name: 'Unlock' }).click();
  await page.getByRole('alert').filter({ hasText: 'not the token' }).waitFor();
  await page.getByLabel('Token', { exact: true }).fill('secret');
  await page.keyboard.press('Enter');
  await page.locator('[data-raw=gcra]').waitFor();
  expect(await page.getByLabel('Token', { exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'Send request' }).click();
  await expect.poll(() => page.locator('[data-raw=gcra]').textContent()).toMatch(/client under gcra/);
  // A page that is loaded again is still on that engine, and still has the token.
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('engine=memory');
  await page.reload();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await expect.poll(() => page.locator('[data-card=gcra] [data-count=allowed]').textContent()).toBe('10');
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  await close();
});

test('says when the server is gone, and keeps what it saw', async () => {
  const server = await start();
  await attempt(server.url, 'login', 'ann', 6);
  const { page, close } = await openPage(browser, server.url, '#/live', {});
  await page.getByText('Most limited keys').waitFor();
  await server.stop();
  await page.getByRole('status').filter({ hasText: 'does not answer' }).waitFor();
  expect(await page.getByText('Most limited keys').isVisible()).toBe(true);
  await close();
});

test('fits a telephone, light and dark', async () => {
  const { url } = await start();
  await attempt(url, 'login', 'a-key-that-is-much-longer-than-a-telephone-is-wide-and-goes-on-and-on', 12);
  const { page, complaints, close } = await openPage(browser, url, '#/live', { viewport: { width: 390, height: 844 } });
  await page.getByText('Most limited keys').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    const [background, ink] = await page.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return [backgroundColor, color].map((text) => Number(/\d+/.exec(text)![0]));
    });
    expect(background! > ink!).toBe(colorScheme === 'light');
  }
  expect(complaints).toEqual([]);
  await close();
});
