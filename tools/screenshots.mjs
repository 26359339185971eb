/** What `npm run screenshots` runs: the pictures of the README, taken of the built lab in a real Chromium, the same each time. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { runnerImport } from 'vite';
import { workspaceFolder } from './steps.mjs';

const load = async (file) => (await runnerImport(join(workspaceFolder, 'tools', file))).module;
const { launchBrowser } = await load('browser.ts');
const { installSystemPackage } = await load('servers/apt.ts');
const { startServer: startRedis } = await load('servers/index.ts');

const FOLDER = join(workspaceFolder, 'docs', 'images');

/** The page names these first; with what a server has instead the pictures would not look like the page does for people. */
const FONTS = { Inter: 'fonts-inter', 'JetBrains Mono': 'fonts-jetbrains-mono' };

async function requireFonts() {
  const { stdout } = await promisify(execFile)('fc-list');
  for (const [name, debian] of Object.entries(FONTS)) {
    if (stdout.includes(name)) continue;
    await installSystemPackage(debian).catch(() =>
      console.error(`Without the font ${name} (Debian: ${debian}) they look different.`),
    );
  }
}

async function startServer(redis) {
  const config = join('packages', 'server', 'examples', 'policies.yaml');
  const child = spawn(
    process.execPath,
    [join('packages', 'server', 'bin', 'sluice.mjs'), 'serve', '--port', '0', '--config', config, '--redis', redis.url],
    {
      cwd: workspaceFolder,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      said += chunk;
      const [, found] = /^The lab: (\S+)/m.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(`the server did not start: ${said}`)));
  });
  return { url, stop: () => Promise.all([once(child, 'exit'), child.kill()]) };
}

/** Stops the lab's time once so many requests have come, and so many milliseconds of the lab later. */
async function pauseAfter(page, requests, milliseconds) {
  await page.waitForFunction((count) => globalThis.sluiceLab.lab.trace.length >= count, requests);
  await page.waitForTimeout(milliseconds);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.waitForTimeout(200);
}

/** A few clients that ask a lot, for as long as the picture needs. */
async function traffic(url, seconds) {
  const attempt = (policy, key) => fetch(`${url}v1/attempt`, { method: 'POST', body: JSON.stringify({ policy, key }) });
  const until = performance.now() + seconds * 1e3;
  for (let turn = 0; performance.now() < until; turn += 1) {
    const wave = 4 + Math.round(3 * Math.sin(turn / 25));
    const keys = ['customer:acme', 'customer:acme', 'customer:globex', 'customer:initech'];
    const asked = Array.from({ length: wave }, (_, index) => attempt('api', keys[(turn + index) % keys.length]));
    if (turn % 4 === 0) asked.push(attempt('login', `203.0.113.${turn % 7}`), attempt('search', 'crawler'));
    if (turn % 3 === 0) asked.push(attempt('daily', 'job:nightly'));
    await Promise.all(asked);
    await sleep(50);
  }
}

const WIDE = { width: 1440, height: 1000 };

/** Name, scheme, size, and how to get there. */
const PICTURES = [
  {
    name: 'lab',
    address: '#/?preset=twice-the-limit',
    arrange: (page) => pauseAfter(page, 20, 900),
  },
  {
    name: 'lab-dark',
    colorScheme: 'dark',
    address: '#/?traffic=poisson&rate=2&seed=3',
    arrange: (page) => pauseAfter(page, 50, 0),
  },
  {
    name: 'lab-boundary',
    address: '#/?preset=twice-the-limit',
    async arrange(page) {
      await pauseAfter(page, 20, 1500);
      await page.getByRole('button', { name: 'Show less time' }).click();
    },
    part: '.timeline',
  },
  {
    name: 'chooser',
    address: '#/choose',
    async arrange(page) {
      for (const value of ['sturdy', 'unwelcome', 'close']) await page.locator(`.option input[value=${value}]`).check();
      await page.locator('[name=servers][value=many]').check();
    },
  },
  {
    name: 'live',
    colorScheme: 'dark',
    address: '#/live',
    arrange: (_page, url) => traffic(url, 40),
  },
];

async function take(browser, url, { name, colorScheme = 'light', address, arrange, part }) {
  const context = await browser.newContext({ viewport: WIDE, colorScheme });
  const page = await context.newPage();
  await page.goto(`${url}${address}`);
  await page.waitForSelector('main *');
  await arrange(page, url);
  await page.mouse.move(0, 0);
  const file = join(FOLDER, `${name}.png`);
  // A page as high as what is on it, drawn as such: what is only stretched for the picture has empty canvases.
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ ...WIDE, height });
  await page.waitForTimeout(500);
  await (part === undefined ? page : page.locator(part)).screenshot({ path: file });
  await context.close();
  console.log(`docs/images/${name}.png, ${Math.round((await stat(file)).size / 1e3)} kB`);
}

await requireFonts();
await mkdir(FOLDER, { recursive: true });
const wanted = process.argv.slice(2);
const redis = await startRedis({ kind: 'redis' });
const server = await startServer(redis);
const browser = await launchBrowser();
try {
  for (const picture of PICTURES.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    await take(browser, server.url, picture);
  }
} finally {
  await browser.close();
  await server.stop();
  await redis.stop();
}
