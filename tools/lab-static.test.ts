/** The lab on a static host: in a folder below a path, with a page for each story that says what it is about, and a story in a frame of another page. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLANS } from '../packages/lab/src/model/stories/index.ts';
import { launchBrowser } from './browser.ts';

const TYPES: Readonly<Record<string, string>> = {
  ...{
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.woff2': 'font/woff2',
    '.png': 'image/png',
  },
};
const folder = mkdtempSync(join(tmpdir(), 'sluice-static-'));
let server: Server;
let browser: Browser;
let url: string;

beforeAll(async () => {
  const script = fileURLToPath(new URL('lab-static.mjs', import.meta.url));
  const options = [
    '--out',
    join(folder, 'lab'),
    '--docs',
    'https://docs.example/?a&b',
    '--base',
    'https://limits.example/lab/',
  ];
  await promisify(execFile)(process.execPath, [script, ...options]);
  server = createServer(({ url: asked }, response) => {
    const path = new URL(asked!, 'http://host').pathname;
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    if (path === '/article') {
      response.setHeader('Content-Type', 'text/html');
      response.end('<h1>Article</h1><iframe src="/lab/#/?embed=smooth-webhooks" width="1000" height="640"></iframe>');
    } else if (existsSync(file)) {
      response.setHeader('Content-Type', TYPES[extname(file)] ?? 'text/plain');
      response.end(readFileSync(file));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each(PLANS)(
  '$id has a page with a title, a description and a preview of its own',
  async ({ id, title, description }) => {
    const html = readFileSync(join(folder, 'lab', 'story', id, 'index.html'), 'utf8');
    expect(html).toContain(`<title>${title} · Sluice</title>`);
    expect(html).toContain(`<meta property="og:title" content="${title}"`);
    expect(html).toContain(`<meta name="description" content="${description}"`);
    expect(html).toContain(`<meta property="og:image" content="https://limits.example/lab/previews/${id}.png"`);
    const preview = readFileSync(join(folder, 'lab', 'previews', `${id}.png`));
    expect([preview.readUInt32BE(16), preview.readUInt32BE(20)]).toEqual([1200, 630]);
    expect(preview.length).toBeLessThan(80_000);
  },
);

test('such a page tells its story, from wherever it is served', async () => {
  const page = await browser.newPage();
  const missing: string[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400) missing.push(new URL(response.url()).pathname);
  });
  await page.goto(`${url}/lab/story/login-guessing/`);
  await page.locator('[data-row=gcra]').waitFor();
  await expect.poll(() => page.evaluate(() => globalThis.sluiceLab!.lab.story?.id)).toBe('login-guessing');
  await page.evaluate(() => document.fonts.ready);
  // There is no server to play on, and the page says so where it is chosen; nothing else is missing.
  await expect.poll(() => missing).toEqual(['/lab/story/login-guessing/api/lab/engines']);
  const redis = page.getByRole('button', { name: 'Redis', exact: true });
  await expect.poll(() => redis.getAttribute('title')).toContain('did not come from a Sluice server');
  expect(await page.getByRole('link', { name: 'Documentation' }).first().getAttribute('href')).toBe(
    'https://docs.example/?a&b',
  );
  await page.close();
});

test("a story plays in a frame of somebody else's article", async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/article`);
  const frame = page.frameLocator('iframe');
  await frame.getByText('webhooks fall due at the same moment').first().waitFor();
  await frame.getByRole('button', { name: 'Replay' }).waitFor();
  expect(await frame.locator('.top').count()).toBe(0);
  await page.close();
});
