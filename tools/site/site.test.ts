/**
 * The documentation site as readers have it: built once, served, and looked at in Chromium with every other host cut off. Links, anchors and pictures lead
 * somewhere; no page is wider than its window at three widths.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser } from '../browser.ts';
import { addressOf, SECTIONS } from './map.mjs';
import { projectPages } from './stage.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const BASE = '/sluice/';
/** Pictures of what was looked at, for people. */
const PICTURES = join(root, '.cache/site-pictures');
const folder = mkdtempSync(join(tmpdir(), 'sluice-site-'));
const pages: readonly string[] = projectPages(root);

let server: ChildProcess;
let browser: Browser;
let url: string;

beforeAll(async () => {
  const script = join(root, 'tools/site/build.mjs');
  await promisify(execFile)(process.execPath, [script, '--out', folder, '--base', BASE], { cwd: root });
  server = spawn(process.execPath, [join(root, 'tools/site/serve.mjs'), '--port', '0'], { cwd: root });
  const [said] = (await once(server.stdout!, 'data')) as [Buffer];
  url = /http:\S+/.exec(String(said))![0];
  browser = await launchBrowser();
  mkdirSync(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const fileOf = (address: string): string =>
  join(folder, address.endsWith('/') ? `${address}index.html` : `${address}.html`);

test('every page of the project is a page of the site, and every section of the map has some', () => {
  expect(pages.filter((file) => !existsSync(fileOf(addressOf(file)!)))).toEqual([]);
  const addresses = pages.map((file) => addressOf(file)!);
  expect(new Set(addresses).size).toBe(addresses.length);
  const empty = SECTIONS.filter(({ at }) => !addresses.some((address) => at.test(address)));
  expect(empty.map(({ text }) => text)).toEqual([]);
});

test('every error has a stable address', () => {
  const source = readFileSync(join(root, 'packages/sluice/src/model/errors.ts'), 'utf8');
  const codes = [...source.matchAll(/'(SLUICE_[A-Z_]+)'/g)].map(([, code]) => code!);
  expect(codes.length).toBeGreaterThan(30);
  expect(codes.filter((code) => !existsSync(join(folder, 'errors', `${code}.html`)))).toEqual([]);
});

test('every subpath of the library has a page of reference, with what people hover over', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'packages/sluice/package.json'), 'utf8'));
  const subpaths = Object.keys(exports).filter((path) => path !== './package.json');
  for (const path of subpaths) expect(existsSync(fileOf(`/reference/sluice${path.slice(1)}`)), path).toBe(true);
  const page = readFileSync(fileOf('/reference/sluice'), 'utf8');
  for (const name of ['createlimiter', 'tokenbucket', 'limiter', 'memorystore']) expect(page).toContain(`id="${name}"`);
});

test('links, anchors and pictures lead somewhere', () => {
  const files = readdirSync(folder, { recursive: true }).map(String);
  const html = files.filter((file) => file.endsWith('.html') && !/^(404|lab\/)/.test(file));
  const texts = new Map(html.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
  const ids = new Map(
    [...texts].map(([file, text]) => [file, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!))]),
  );
  const broken = new Map<string, string>();
  for (const [file, text] of texts) {
    for (const [, link] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(?:https?|mailto|data):/.test(link!)) continue;
      const here = `http://host${BASE}${file.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`;
      const { pathname, hash } = new URL(link!.replaceAll('&amp;', '&'), here);
      const path = decodeURIComponent(pathname);
      const name = path.slice(BASE.length);
      const target =
        name === '' || name.endsWith('/')
          ? `${name}index.html`
          : existsSync(join(folder, name))
            ? name
            : `${name}.html`;
      const anchor = decodeURIComponent(hash.slice(1));
      const isThere = path.startsWith(BASE) && existsSync(join(folder, target));
      const isFound = anchor === '' || !ids.has(target) || ids.get(target)!.has(anchor);
      if (!isThere || !isFound) broken.set(link!, file);
    }
  }
  expect([...broken]).toEqual([]);
  expect(texts.size).toBeGreaterThan(150);
});

test('llms.txt lists the pages, and llms-full.txt has them', () => {
  const index = readFileSync(join(folder, 'llms.txt'), 'utf8');
  const full = readFileSync(join(folder, 'llms-full.txt'), 'utf8');
  const links = [...index.matchAll(/\]\((\/[^)]+)\)/g)].map(([, link]) => link!.slice(BASE.length - 1));
  expect(links.length).toBeGreaterThan(60);
  expect(links.filter((link) => !existsSync(fileOf(link)))).toEqual([]);
  expect(full).toContain(readFileSync(join(root, 'docs/getting-started.md'), 'utf8').trim());
});

/** One of each kind of page. */
const KINDS = [
  ['home', ''],
  ['start', 'start/express'],
  ['frameworks', 'start/frameworks'],
  ['learn', 'learn/which-algorithm'],
  ['verbs', 'learn/verbs'],
  ['recipe', 'recipes/login'],
  ['operate', 'operate/troubleshooting'],
  ['compare', 'compare/rate-limiter-flexible'],
  ['algorithm', 'algorithms/fixed-window'],
  ['stores', 'stores/'],
  ['service', 'service/'],
  ['migrate', 'migrate/express-rate-limit'],
  ['reference', 'reference/sluice'],
  ['cases', 'reference/cases'],
  ['error', 'errors/SLUICE_TIMEOUT'],
  ['decision', 'decisions/0010-leases'],
  ['benchmarks', 'operate/benchmarks'],
  ['changelog', 'changelog'],
  ['source', 'source/examples/express/server-ts'],
] as const;
const WIDTHS = [390, 768, 1280] as const;

interface Opened {
  readonly page: Page;
  /** What the console, the network and the page complained about. */
  readonly complaints: string[];
  /** Hosts other than the site's that were asked for something. */
  readonly strangers: string[];
}

/** A page that can reach this site and nothing else. */
async function open(width = 1280): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(200_000); // A busy machine is no failure.
  const complaints: string[] = [];
  const strangers: string[] = [];
  await page.route('**/*', (route) => {
    const asked = new URL(route.request().url());
    if (asked.origin === new URL(url).origin || !/^http/.test(asked.protocol)) return route.continue();
    strangers.push(asked.href);
    return route.abort();
  });
  page.on('console', (message) => {
    // The lab looks for a server of its own, and does without.
    if (message.type() === 'error' && !message.location().url.endsWith('api/lab/engines'))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints, strangers };
}

describe('at three widths', () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(WIDTHS[0]);
  });
  afterAll(() => opened?.page.context().close());

  test.each(KINDS)('%s fits, complains of nothing and asks nobody else', async (name, path) => {
    const { page, complaints, strangers } = opened;
    await page.goto(`${url}${path}`);
    await page.locator('h1').first().waitFor();
    const wider: string[] = [];
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme: width === 768 ? 'dark' : 'light' });
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) wider.push(`${over} beyond ${width}`);
      await page.screenshot({ path: join(PICTURES, `${name}-${width}.png`) });
    }
    expect([wider, complaints, strangers]).toEqual([[], [], []]);
  });
});

test('search finds words of a page without a service', async () => {
  const { page, complaints, strangers } = await open();
  await page.goto(url);
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.locator('.search-input').fill('SLUICE_STORE_AWAY');
  await page.locator('.result').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/STORE_AWAY|store_away/);
  expect([complaints, strangers]).toEqual([[], []]);
  await page.context().close();
});

test('the page of an algorithm plays the lab, in the colours of the page', async () => {
  const { page, complaints, strangers } = await open();
  await page.goto(`${url}algorithms/fixed-window`);
  const frame = page.frameLocator('.lab-frame iframe');
  await frame.locator('[data-row=fixed-window]').waitFor();
  const theme = () => frame.locator('html').getAttribute('data-theme');
  await expect.poll(theme).toBe('light');
  await page.getByRole('switch').first().click();
  await expect.poll(theme).toBe('dark');
  expect([complaints, strangers]).toEqual([[], []]);
  await page.getByRole('link', { name: 'Open the lab' }).click();
  await page.locator('.sheet').waitFor();
  await page.context().close();
});

test.each([
  ['Chooser: which algorithm?', 'choose'],
  ['Backtest: which limit?', 'backtest'],
])('the top of every page leads to the lab: %s', async (name, shown) => {
  const { page } = await open();
  await page.goto(`${url}changelog`);
  await page.getByRole('button', { name: 'Lab' }).hover();
  await page.getByRole('link', { name }).first().click();
  await page.locator(`main[data-page=${shown}]`).waitFor();
  await page.context().close();
});
