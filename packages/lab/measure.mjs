/**
 * Frame times and memory of the lab in a real Chromium: `node packages/lab/measure.mjs [minutes]`, after `npm run build`. All rows run at 200
 * requests a second, in a window of 1440 x 900 on the page as it is built; frames are counted by the page's own loop, the heap after a forced collection.
 */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module: tools } = await runnerImport(fileURLToPath(new URL('../../tools/browser.ts', import.meta.url)));

const minutes = Number(process.argv[2] ?? 1);
const folder = fileURLToPath(new URL('dist/', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.woff2': 'font/woff2' };

const server = createServer(async ({ url }, response) => {
  const path = url === '/' ? 'index.html' : new URL(url, 'http://lab').pathname;
  const text = await readFile(join(folder, path)).catch(() => undefined);
  response.writeHead(text === undefined ? 404 : 200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' });
  response.end(text);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const browser = await tools.launchBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const begun = performance.now();
  await page.goto(`http://127.0.0.1:${server.address().port}/#/?traffic=poisson&rate=2000`);
  await page.waitForSelector('[data-row]');
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  console.log(
    `first paint with content after ${Math.round(paint)} ms, rows there after ${Math.round(performance.now() - begun)} ms`,
  );
  const devtools = await page.context().newCDPSession(page);
  // By the thread's own clock, which stands while others use the processor.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  let before = await readings(page, devtools);
  for (let round = 0; round <= minutes * 2; round += 1) {
    // In turn the rows alone, and with one of them opened.
    if (round > 0) await page.locator('.row-open').nth(3).click();
    await page.waitForTimeout(round === 0 ? 15_000 : 30_000);
    const now = await readings(page, devtools);
    now.frames.sort((one, other) => one - other);
    const at = (share) => now.frames[Math.floor(share * (now.frames.length - 1))].toFixed(1);
    const work = ((now.busy - before.busy) / (now.count - before.count)) * 1000;
    console.log(
      `${now.requests} requests: frame median ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms; ` +
        `work in a frame ${work.toFixed(1)} ms; heap ${(now.heap / 1e6).toFixed(2)} MB`,
    );
    before = now;
  }
} finally {
  await browser.close();
  server.close();
}

/** `busy`: seconds of processor time of the page's main thread. */
async function readings(page, devtools) {
  const { metrics } = await devtools.send('Performance.getMetrics');
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize: heap } = await devtools.send('Runtime.getHeapUsage');
  const busy = metrics.find(({ name }) => name === 'TaskDuration').value;
  const read = await page.evaluate(() => {
    const { frames, lab } = globalThis.sluiceLab;
    const recent = [...frames.recent.slice(0, Math.min(frames.count, frames.recent.length))];
    return { frames: recent, count: frames.count, requests: lab.trace.length };
  });
  return { ...read, busy, heap };
}
