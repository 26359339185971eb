/**
 * How fast the backtest page answers, in a real Chromium: `node packages/lab/measure-backtest.mjs [lines]`, after `npm run build`. A log of a million lines
 * is given to the page as a person would; then the slider is moved, and the page's own clock says how long each answer took.
 */

import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module: tools } = await runnerImport(fileURLToPath(new URL('../../tools/browser.ts', import.meta.url)));

const lines = Number(process.argv[2] ?? 1_000_000);
const MOVES = 30;
const folder = fileURLToPath(new URL('dist/', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.woff2': 'font/woff2' };

const server = createServer(async ({ url }, response) => {
  const path = url === '/' ? 'index.html' : new URL(url, 'http://lab').pathname;
  const text = await readFile(join(folder, path)).catch(() => undefined);
  response.writeHead(text === undefined ? 404 : 200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' });
  response.end(text);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

/** Some thousands of clients over a day, a few of them busy. */
async function writeLog(file) {
  const stream = createWriteStream(file);
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    return (seed >>> 0) / 2 ** 32;
  };
  const two = (value) => String(value).padStart(2, '0');
  for (let line = 0; line < lines; line += 1) {
    const second = Math.floor((line / lines) * 86_400);
    const time = `${two(Math.floor(second / 3600))}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`;
    const client = Math.floor(random() ** 3 * 20_000);
    const text = `10.1.${client >> 8}.${client & 255} - - [17/May/2026:${time} +0000] "GET /p/${Math.floor(random() * 500)} HTTP/1.1" 200 512 "-" "Mozilla/5.0"\n`;
    if (!stream.write(text)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  await new Promise((resolve) => stream.end(resolve));
}

const place = await mkdtemp(join(tmpdir(), 'sluice-measure-'));
const browser = await tools.launchBrowser();
try {
  const file = join(place, 'access.log');
  await writeLog(file);
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(300_000);
  await page.goto(`http://127.0.0.1:${server.address().port}/#/backtest`);
  await page.locator('input[type=file]').waitFor({ state: 'attached' });
  await page.evaluate(() => {
    globalThis.seen = [];
    new MutationObserver(() => {
      const progress = document.querySelector('.backtest-progress progress');
      if (progress !== null) globalThis.seen.push(progress.value);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  const begun = performance.now();
  await page.locator('input[type=file]').setInputFiles(file);
  await page.locator('[data-facts]').waitFor();
  console.log(
    `${lines} lines read in ${Math.round(performance.now() - begun)} ms: ${await page.locator('[data-facts]').textContent()}`,
  );
  const shares = await page.evaluate(() => [...new Set(globalThis.seen)].length);
  console.log(`the progress bar stood at ${shares} different places`);
  const times = [];
  for (let move = 0; move < MOVES; move += 1) {
    const before = await page.locator('[data-answered-in]').getAttribute('data-answered-in');
    await page.locator('input[name=capacity]').fill(String(3 + (move % 20)));
    await page.waitForFunction(
      (old) => document.querySelector('[data-answered-in]').dataset.answeredIn !== old,
      before,
    );
    times.push(Number(await page.locator('[data-answered-in]').getAttribute('data-answered-in')));
  }
  times.sort((one, other) => one - other);
  console.log(
    `the slider is answered in ${Math.round(times[MOVES / 2])} ms (median), ${Math.round(times.at(-1))} ms at most, of ${MOVES} moves`,
  );
} finally {
  await browser.close();
  server.close();
  await rm(place, { recursive: true });
}
