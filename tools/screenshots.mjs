/** What `npm run screenshots` runs: the pictures of the docs and the previews of stories, taken of the built lab in a real Chromium, the same each time. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { runnerImport } from 'vite';
import { workspaceFolder } from './steps.mjs';

const load = async (file) => (await runnerImport(join(workspaceFolder, file))).module;
const { launchBrowser } = await load('tools/browser.ts');
const { installSystemPackage } = await load('tools/servers/apt.ts');
const { startServer: startRedis } = await load('tools/servers/index.ts');
const { PLANS } = await load('packages/lab/src/model/stories/index.ts');

const IMAGES = join(workspaceFolder, 'docs', 'images');
const PREVIEWS = join(workspaceFolder, 'packages', 'lab', 'previews');

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

const lab = (page, act) => page.evaluate(`(async (lab) => { ${act} })(globalThis.sluiceLab.lab)`);

/** To a beat of the story, where time stands. */
async function toBeat(page, beat) {
  await page.waitForFunction('globalThis.sluiceLab.lab.player !== undefined');
  await lab(page, `while (lab.player.place.beat < ${beat}) await lab.nextBeat(); lab.pause();`);
}

/** To the frame on which the story ends. */
async function toTheEnd(page) {
  await page.waitForFunction('globalThis.sluiceLab.lab.player !== undefined');
  await lab(page, 'while (!lab.isOver) await lab.nextBeat();');
}

/** Traffic for so many milliseconds of the lab. */
async function run(page, milliseconds) {
  await lab(page, `lab.pause(); await lab.advanceTo(${milliseconds});`);
}

const [LAPTOP, DESKTOP, TABLET, PHONE] = [
  { width: 1280, height: 720 },
  { width: 1440, height: 900 },
  { width: 768, height: 1024 },
  { width: 390, height: 844 },
];
const RANDOM = '#/?traffic=poisson&rate=25&seed=3';

/** Name, size, scheme, and how to get there. */
const PICTURES = [
  { name: 'lab', size: LAPTOP, address: '#/?story=boundary-burst', arrange: (page) => toBeat(page, 4) },
  {
    name: 'lab-dark',
    size: DESKTOP,
    colorScheme: 'dark',
    address: `${RANDOM}&row=token-bucket`,
    arrange: (page) => run(page, 22_000),
  },
  { name: 'lab-boundary', size: LAPTOP, address: '#/?story=boundary-burst', arrange: toTheEnd, part: '.rows-frame' },
  { name: 'lab-question', size: LAPTOP, address: '#/?story=boundary-burst', arrange: (page) => toBeat(page, 3) },
  {
    name: 'lab-code',
    size: DESKTOP,
    address: `${RANDOM}&row=sliding-window-counter&tab=code`,
    arrange: (page) => run(page, 22_000),
  },
  { name: 'lab-in-flight', size: LAPTOP, address: '#/?story=in-flight', arrange: (page) => toBeat(page, 4) },
  { name: 'lab-phone', size: PHONE, address: RANDOM, arrange: (page) => run(page, 22_000) },
  { name: 'lab-tablet', size: TABLET, address: '#/?story=idle-then-burst', arrange: toTheEnd },
  {
    name: 'lab-forced-colors',
    size: LAPTOP,
    forcedColors: 'active',
    address: RANDOM,
    arrange: (page) => run(page, 22_000),
  },
  {
    name: 'lab-redis',
    size: DESKTOP,
    address: '#/?traffic=manual&engine=redis&limit=10/1m&row=sliding-window-log',
    arrange: onRedis,
  },
  { name: 'chooser', size: LAPTOP, address: '#/choose?bursts=yes&servers=many' },
  { name: 'chooser-phone', size: PHONE, colorScheme: 'dark', address: '#/choose' },
  { name: 'backtest', size: { width: 1280, height: 900 }, address: '#/backtest', arrange: sampleLog },
  { name: 'backtest-curve', size: DESKTOP, address: '#/backtest', arrange: sampleLog, part: '.backtest-curve' },
  { name: 'live', size: { width: 1440, height: 1420 }, colorScheme: 'dark', address: '#/live', arrange: live },
];

async function onRedis(page) {
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await page.waitForFunction('globalThis.sluiceLab.lab.trace.length === 20');
  await page.locator('.sheet').getByRole('button', { name: 'In the store' }).click();
}

/** The sample, with a limit that somebody meets. */
async function sampleLog(page) {
  await page.getByRole('button', { name: 'Try a sample log' }).click();
  await page.locator('.backtest-numbers').waitFor();
  await page.locator('input[name=capacity]').fill('15');
  await page.locator('.backtest-lists').waitFor();
}

async function live(page, url) {
  await traffic(url, 45);
  await page.locator('.key-button').first().click();
  await page.locator('[data-left]').filter({ hasText: 'left' }).waitFor();
}

async function take(browser, url, picture) {
  const { size, colorScheme = 'light', forcedColors = 'none', address, arrange, part, file } = picture;
  const context = await browser.newContext({ viewport: size, colorScheme, forcedColors });
  const page = await context.newPage();
  await page.goto(`${url}${address}`);
  await page.waitForSelector('main *');
  await page.evaluate('document.fonts.ready');
  await arrange?.(page, url);
  await page.mouse.move(0, 0);
  // Words are written ten times a second, twins are looked for twice.
  await page.waitForTimeout(900);
  await mkdir(dirname(file), { recursive: true });
  await page.evaluate('scrollTo(0, 0)');
  await (part === undefined ? page : page.locator(part)).screenshot({ path: file });
  await context.close();
  await compress(file);
  console.log(`${relative(workspaceFolder, file)}, ${Math.round((await stat(file)).size / 1e3)} kB`);
}

/** To a third, with 256 colours, which these pictures do not need. Without the program they are only larger. */
async function compress(file) {
  const quantise = () =>
    promisify(execFile)('pngquant', ['--force', '--strip', '--speed', '1', '--output', file, '128', file]);
  await quantise().catch(async () => {
    await installSystemPackage('pngquant').catch(() =>
      console.error('Debian: apt-get install pngquant makes them smaller.'),
    );
    await quantise().catch(() => {});
  });
}

const previews = PLANS.map(({ id }) => ({
  name: `preview-${id}`,
  file: join(PREVIEWS, `${id}.png`),
  size: { width: 1200, height: 630 },
  address: `#/?embed=${id}`,
  arrange: toTheEnd,
}));
const wanted = process.argv.slice(2);
const pictures = [
  ...PICTURES.map((picture) => ({ ...picture, file: join(IMAGES, `${picture.name}.png`) })),
  ...previews,
];
const redis = await startRedis({ kind: 'redis' });
const server = await startServer(redis);
const browser = await launchBrowser();
try {
  for (const picture of pictures.filter(
    ({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
  )) {
    await take(browser, server.url, picture);
  }
} finally {
  await browser.close();
  await server.stop();
  await redis.stop();
}
