/** The live view in a real Chromium, over a real server that limits real requests. */
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchBrowser } from '../../../../tools/browser.ts';
import { startServer } from '../../../../tools/servers/index.ts';
import { readConfig } from '../../../server/src/config/read-config.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import { inLab, openPage, shownCounts } from './open-page.ts';

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
  await page.getByText('No requests in the last minute.').waitFor();
  // What each policy allows is there before anybody asks.
  expect(await page.locator('[data-policy=login] th small').textContent()).toBe('5 per 15 min');
  expect(await page.locator('[data-policy=api] th small').textContent()).toBe('100 at once, 10/s back');

  await attempt(url, 'login', 'ann', 15);
  await attempt(url, 'daily', 'bob', 5);
  await expect.poll(() => tile(page, 'Denied share').textContent()).toBe('50.0 %');
  expect(await tile(page, 'Store, median').textContent()).toMatch(/^\d+(\.\d+)? ms$/);
  expect(await tile(page, 'Answered by the fallback').textContent()).toBe('0 %');
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
  expect(await keys('Most denied keys')).toEqual([['ann', 'login', '10']]);
  const policies = page.getByRole('table', { name: 'Policies' }).locator('tbody tr');
  expect((await policies.evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset.policy))).sort()).toEqual(
    [...['api', 'daily', 'login', 'search']],
  );
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
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('alert').filter({ hasText: 'not the token' }).waitFor();
  await page.getByLabel('Token').fill('secret');
  await page.keyboard.press('Enter');
  await page.getByText('No requests in the last minute.').waitFor();
  await page.reload();
  await page.getByText('No requests in the last minute.').waitFor();
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  await close();
});

test('with the token the lab plays on a server that protects everything', async () => {
  const { url } = await start('--token', 'secret', '--protect', 'everything');
  const { page, complaints, close } = await openPage(browser, url, '#/?traffic=manual', {});
  await page.getByRole('button', { name: 'Server', exact: true }).click();
  await page.getByLabel('Token', { exact: true }).fill('guess');
  await page.getByRole('button', { name: 'Unlock' }).click();
  await page.getByRole('alert').filter({ hasText: 'not the token' }).waitFor();
  await page.getByLabel('Token', { exact: true }).fill('secret');
  await page.keyboard.press('Enter');
  await expect.poll(() => inLab(page, (lab) => lab.engine.kind)).toBe('memory');
  expect(await page.getByLabel('Token', { exact: true }).count()).toBe(0);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect.poll(() => page.locator('[data-row=gcra]').getAttribute('data-remaining')).toBe('9');
  // A page that is loaded again is still on that engine, and still has the token.
  await expect.poll(() => page.evaluate(() => location.hash)).toContain('engine=memory');
  await page.reload();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await expect.poll(async () => (await shownCounts(page)).gcra?.allowed).toBe(10);
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  await close();
});

test('what was before the page was opened is in the chart, and the pointer tells its values', async () => {
  const { url } = await start();
  await attempt(url, 'login', 'ann', 8);
  const { page, close } = await openPage(browser, url, '#/live', {});
  const chart = page.locator('.live-chart svg');
  await chart.waitFor();
  // The second in which they came is over soon, and then it is there for good.
  const found = async (): Promise<string[]> => {
    const { width } = (await chart.boundingBox())!;
    const texts: string[] = [];
    for (let x = width - 2; x > width * 0.7; x -= width / 60) {
      await chart.hover({ position: { x, y: 60 } });
      texts.push((await page.locator('.live-chart [data-tip]').textContent())!);
    }
    return texts;
  };
  const sum = (texts: readonly string[], word: string): number => {
    const counts = new Map(
      texts.map((text) => [text.slice(0, 8), Number(new RegExp(`(\\d+) ${word}`).exec(text)![1])]),
    );
    return [...counts.values()].reduce((all, one) => all + one, 0);
  };
  await expect.poll(async () => sum(await found(), 'allowed')).toBe(5);
  expect(sum(await found(), 'denied')).toBe(3);
  await close();
});

test('a policy and a key can be looked at alone', async () => {
  const { url } = await start();
  await attempt(url, 'login', 'ann', 7);
  await attempt(url, 'daily', 'bob', 4);
  const { page, close } = await openPage(browser, url, '#/live', {});
  const busiest = page.getByRole('region', { name: 'Busiest keys' }).locator('li');
  await expect.poll(() => busiest.count()).toBe(2);
  await page.locator('[data-policy=login]').getByRole('button', { name: 'login' }).click();
  await page.getByRole('heading', { name: 'Requests a second under login' }).waitFor();
  expect(await busiest.count()).toBe(1);
  await page.locator('.live-filters').getByLabel('Policy').first().selectOption('');
  await page.getByLabel('Key', { exact: true }).fill('bo');
  await expect.poll(() => busiest.allTextContents()).toEqual(['bobdaily4']);
  await close();
});

test('a key can be looked at, reset, blocked, unblocked and exempted, with the token', async () => {
  const { url } = await start('--token', 'secret');
  const authorization = { authorization: 'Bearer secret' };
  const ask = async (key: string) =>
    (await fetch(`${url}/v1/attempt`, { method: 'POST', body: JSON.stringify({ policy: 'login', key }) })).json();
  for (let time = 0; time < 6; time += 1) await ask('ann');
  const { page, complaints, close } = await openPage(browser, url, '#/live', {});
  await page.getByLabel('Token').fill('secret');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Most denied keys' }).getByRole('button', { name: 'ann' }).click();
  const panel = page.getByRole('region', { name: 'Key ann' });
  const left = panel.locator('[data-left]');
  await expect.poll(() => left.textContent()).toMatch(/^0 of 5 left, next in \d+ (s|min)$/);
  await panel.getByRole('button', { name: 'Reset' }).click();
  await expect.poll(() => left.textContent()).toBe('5 of 5 left, nothing spent');
  await panel.getByLabel('How long to block').selectOption('1h');
  await panel.getByRole('button', { name: 'Block', exact: true }).click();
  await panel.getByText('Blocked for 1 hour.').waitFor();
  expect(await ask('ann')).toMatchObject({ allowed: false });
  await panel.getByRole('button', { name: 'Unblock' }).click();
  await panel.getByText('The block has ended.').waitFor();
  expect(await ask('ann')).toMatchObject({ allowed: true });
  for (let time = 0; time < 6; time += 1) await ask('ann');
  expect(await ask('ann')).toMatchObject({ allowed: false });
  await panel.getByRole('button', { name: 'Exempt for 1 hour' }).click();
  await panel.getByText('Exempt for 1 hour, on every server.').waitFor();
  await expect.poll(() => left.textContent()).toBe('Exempt: not limited now');
  expect(await ask('ann')).toMatchObject({ allowed: true });
  await panel.getByText('Exempt this key for longer').click();
  const yaml = (await panel.locator('pre').textContent())!;
  const policies = 'policies:\n  login: { algorithm: sliding-window-log, limit: 5, window: 15m }\n';
  const { config, problems } = readConfig(policies + yaml);
  expect(problems).toEqual([]);
  expect(config!.policies.get('login')!.overrides.get('ann')!.policy).toMatchObject({ limit: 10_000_000 });
  expect(await (await fetch(`${url}/v1/live`, { headers: authorization })).json()).toMatchObject({
    store: { state: 'up' },
  });
  expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  await close();
});

test('sends test traffic to a policy', async () => {
  const { url } = await start();
  const { page, close } = await openPage(browser, url, '#/live', {});
  await page.locator('.test-traffic').getByLabel('Policy').selectOption('login');
  await page.getByRole('button', { name: 'Send test traffic' }).click();
  const busiest = page.getByRole('region', { name: 'Busiest keys' }).locator('li');
  await expect.poll(() => busiest.allTextContents()).toContainEqual(expect.stringMatching(/^test:\w+login\d+$/));
  await expect.poll(() => tile(page, 'Denied share').textContent()).not.toBe('0 %');
  await close();
});

test('a policy in the shadow denies nobody, and what it would deny is told apart', async () => {
  const { url } = await start();
  await attempt(url, 'search', 'crawler', 60);
  const { page, close } = await openPage(browser, url, '#/live', {});
  await expect.poll(() => tile(page, 'Denied share').textContent()).toBe('0 %');
  expect(await page.getByRole('region', { name: 'Most denied keys' }).locator('li').count()).toBe(0);
  const wouldBe = page.getByRole('region', { name: 'Would be denied' });
  expect(await wouldBe.locator('li').allTextContents()).toEqual([expect.stringMatching(/^crawlersearch(49|50)$/)]);
  expect(await page.locator('[data-policy=search] th').textContent()).toContain('would deny');
  await close();
});

test('the denied share is that of requests, under however many policies they are', async () => {
  const { url } = await start();
  const ask = () => fetch(`${url}/v1/check`, { headers: { 'x-forwarded-uri': '/things', 'x-api-key': 'ann' } });
  const statuses = await Promise.all(Array.from({ length: 140 }, async () => (await ask()).status));
  const denied = statuses.filter((status) => status === 429).length;
  expect(denied).toBeGreaterThan(0);
  const { page, close } = await openPage(browser, url, '#/live', {});
  const share = `${((denied / 140) * 100).toFixed(1)} %`;
  await expect.poll(() => tile(page, 'Denied share').textContent()).toBe(share);
  await close();
});

test('the rows of the table stay where they are, however the traffic changes', async () => {
  const { url } = await start();
  const { page, close } = await openPage(browser, url, '#/live', {});
  await attempt(url, 'search', 'ann', 1);
  const rows = page.locator('.live-policies tbody tr');
  await rows.first().waitFor();
  const order = () => rows.evaluateAll((found) => found.map((row) => (row as HTMLElement).dataset.policy));
  const first = await order();
  expect(first).toEqual(['api', 'daily', 'login', 'search']);
  for (const policy of ['login', 'daily', 'search', 'api']) {
    await attempt(url, policy, 'ann', 20);
    await expect.poll(() => page.locator(`[data-policy=${policy}] td`).nth(1).textContent()).not.toBe('0');
    expect(await order()).toEqual(first);
  }
  // Unless somebody sorts them.
  await page.getByRole('button', { name: 'Denied in a minute' }).click();
  expect((await order())[0]).toBe('login');
  await close();
});

test('says that the store is away, and since when, while the fallback answers', async () => {
  const redis = await startServer({ kind: 'redis' });
  const { url } = await start('--redis', redis.url);
  const { page, close } = await openPage(browser, url, '#/live', {});
  await attempt(url, 'daily', 'ann', 3);
  await expect.poll(() => tile(page, 'Store').textContent()).toMatch(/ ms$/);
  await redis.stop();
  await attempt(url, 'daily', 'ann', 3);
  await expect.poll(() => tile(page, 'Store').textContent()).toBe('Down');
  await expect
    .poll(() => page.locator('[data-store]').textContent())
    .toMatch(/^Store: down for \d+ s; the fallback answers$/);
  await close();
});

test('a server that is gone is not called up', async () => {
  const server = await start();
  const { page, close } = await openPage(browser, server.url, '#/live', {});
  await page.getByText('Server: updated every second').waitFor();
  await server.stop();
  await page.getByText('The server does not answer. It had no requests when it was last seen.').waitFor();
  expect(await page.getByRole('status').allTextContents()).toEqual([
    expect.stringMatching(/^Server: no answer for \d+ s/),
  ]);
  await close();
});

test('says when the server is gone, and keeps what it saw', async () => {
  const server = await start();
  await attempt(server.url, 'login', 'ann', 6);
  const { page, close } = await openPage(browser, server.url, '#/live', {});
  await page.getByText('Most denied keys').waitFor();
  await server.stop();
  await page.getByRole('status').filter({ hasText: 'no answer for' }).waitFor();
  expect(await page.getByText('Most denied keys').isVisible()).toBe(true);
  await close();
});

test('fits a telephone, light and dark', async () => {
  const { url } = await start();
  await attempt(url, 'login', 'a-key-that-is-much-longer-than-a-telephone-is-wide-and-goes-on-and-on', 12);
  const { page, complaints, close } = await openPage(browser, url, '#/live', { viewport: { width: 390, height: 844 } });
  await page.getByText('Most denied keys').waitFor();
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
