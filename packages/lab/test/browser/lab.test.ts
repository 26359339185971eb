/** The lab as people use it: clicked through in a real Chromium. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { KINDS } from '../../src/model/kinds/index.ts';
import { type Bench, inLab, type OpenPage, openBench, shownCounts, untilTraced } from './open-page.ts';

let bench: Bench;
let opened: OpenPage[] = [];
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench?.stop());
afterEach(async () => {
  const said = opened.map(({ complaints, foreign }) => ({ complaints, foreign }));
  await Promise.all(opened.map(({ close }) => close()));
  opened = [];
  for (const page of said) expect(page).toEqual({ complaints: [], foreign: [] });
});

async function open(...args: Parameters<Bench['open']>): Promise<OpenPage['page']> {
  const page = await bench.open(...args);
  opened.push(page);
  return page.page;
}

const QUIET = '#/?traffic=manual';
const IDS = KINDS.map(({ id }) => id);
type Page = OpenPage['page'];
const row = (page: Page, id: string) => page.locator(`[data-row="${id}"]`);
const openRow = (page: Page, id: string) => row(page, id).locator('.row-open').click();
const tab = (page: Page, name: string) => page.locator('.sheet').getByRole('button', { name, exact: true }).click();
const pause = (page: Page) => page.getByRole('button', { name: 'Pause' }).click();
const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true });
const summary = (page: Page) => page.locator('.sheet-summary');

test('a burst of the chosen size at the chosen cost, and a reset that clears everything', async () => {
  const page = await open(QUIET);
  await pause(page);
  await page.getByLabel('Requests in a burst').fill('7');
  await page.getByLabel('cost').fill('2');
  await page.getByRole('button', { name: 'Burst 7' }).click();
  const bursts = Object.fromEntries(IDS.map((id) => [id, { allowed: 5, delayed: 0, denied: 2 }]));
  await expect
    .poll(() => shownCounts(page))
    .toEqual({ ...bursts, 'leaky-bucket-shaping': { allowed: 5, delayed: 4, denied: 2 } });
  expect(await page.locator('[data-announcer]').textContent()).toContain('7 requests: Fixed window 5 of 7; ');
  await page.getByRole('button', { name: 'Reset all' }).click();
  const nothing = Object.fromEntries(IDS.map((id) => [id, { allowed: 0, delayed: 0, denied: 0 }]));
  await expect.poll(() => shownCounts(page)).toEqual(nothing);
  expect(await inLab(page, (lab) => lab.trace.length)).toBe(0);
  for (const id of IDS) await expect.poll(() => row(page, id).getAttribute('data-remaining')).toBe('10');
  await expect.poll(() => inLab(page, (lab) => lab.lanes)).toEqual(nothing);
});

test('what happened is said in words, with a button that shows more', async () => {
  const page = await open(QUIET);
  const verdict = page.locator('[data-verdict]');
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await expect.poll(() => verdict.textContent()).toContain('All 7 agree so far: all 10 requests allowed.');
  await page.getByRole('button', { name: 'Reset all' }).click();
  await page.getByLabel('Speed').press('End');
  await page.getByRole('button', { name: 'Try a burst across the edge of a window' }).click();
  await expect.poll(() => verdict.textContent()).toMatch(/^Fixed window allowed 20 in 10 s, where 10 were meant\./);
  expect(await row(page, 'fixed-window').locator('.row-numbers').getAttribute('data-over')).toBe('true');
  expect(await row(page, 'sliding-window-log').locator('.row-numbers').getAttribute('data-over')).toBeNull();
  await expect.poll(() => row(page, 'gcra').locator('.row-note').textContent()).toBe('Same answers as Token bucket');
});

test('one limit is the limit of all rows, and a row with numbers of its own is marked', async () => {
  const page = await open(QUIET);
  await page.getByLabel('Limit', { exact: true }).fill('100');
  await page.getByLabel('per', { exact: true }).fill('1 min');
  await page.getByLabel('burst', { exact: true }).fill('20');
  await page.keyboard.press('Enter');
  await expect.poll(() => inLab(page, (lab) => lab.limit)).toEqual({ units: 100, window: 60_000, burst: 20 });
  // A minute lasts as long as ten seconds did.
  expect(await inLab(page, (lab) => lab.rate)).toBe(6);
  await page.getByLabel('Requests in a burst').fill('150');
  await page.getByRole('button', { name: 'Burst 150' }).click();
  await expect.poll(async () => (await shownCounts(page))['sliding-window-log']?.allowed).toBe(100);
  expect((await shownCounts(page)).gcra?.allowed).toBe(20);
  expect(await page.locator('.row .tag').count()).toBe(0);
  await openRow(page, 'gcra');
  await tab(page, 'Numbers');
  await page.getByLabel('Capacity').fill('50');
  await page.keyboard.press('Enter');
  await row(page, 'gcra').locator('.tag').waitFor();
  await expect.poll(async () => (await shownCounts(page)).gcra?.allowed).toBe(50);
  await page.getByRole('button', { name: 'Use the same limit as all' }).click();
  await expect.poll(async () => (await shownCounts(page)).gcra?.allowed).toBe(20);
  expect(await page.locator('.row .tag').count()).toBe(0);
});

test('a number counts when it is typed, however soon somebody leaves its field', async () => {
  const page = await open(QUIET);
  await page.getByLabel('Requests in a burst').evaluate((field: HTMLInputElement) => {
    field.focus();
    field.value = '012';
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.blur();
  });
  expect(await inLab(page, (lab) => lab.setup.burst)).toBe(12);
  await expect.poll(() => page.getByLabel('Requests in a burst').inputValue()).toBe('12');
});

test('a shared address restores the set-up', async () => {
  const page = await open(QUIET);
  await openRow(page, 'fixed-window');
  await tab(page, 'Numbers');
  await page.locator('.sheet').getByLabel('Limit').fill('25');
  await page.locator('.sheet').getByLabel('Window', { exact: true }).fill('1m');
  await page.keyboard.press('Enter');
  await expect.poll(() => summary(page).textContent()).toContain('25 per minute');
  await page.getByRole('combobox', { name: 'traffic' }).selectOption('ramp');
  await page.getByLabel('Requests per window').fill('35.5');
  await page.getByLabel('Requests in a burst').fill('12');
  await page.getByLabel('Speed').press('ArrowRight');
  // The address follows the page, so what it says is what was taken in.
  await expect.poll(() => page.evaluate(() => location.hash)).toMatch(/rate=35\.5.*speed=.*burst=12.*row=fixed-window/);
  const setup = await inLab(page, (lab) => lab.setup);
  expect(setup).toMatchObject({
    traffic: { kind: 'ramp', rate: 35.5 },
    burst: 12,
    own: { 'fixed-window': { limit: '25', window: '1m' } },
  });
  const other = await open(await page.evaluate(() => location.hash));
  expect(await inLab(other, (lab) => lab.setup)).toEqual(setup);
  expect(await summary(other).textContent()).toContain('25 per minute');
});

test('a shared scene has the requests that were sent by hand, the instant and the row', async () => {
  const page = await open(QUIET);
  await inLab(page, async (lab) => {
    lab.pause();
    await lab.advanceTo(9_500);
    await lab.send(10);
    await lab.advance(600);
    await lab.send(12);
    await lab.send(3, 'gcra');
    await lab.advance(900);
  });
  await openRow(page, 'gcra');
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await page.getByRole('dialog').getByText('It opens this scene at 11.00 s, with the requests you sent.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).first().click();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  expect(address).toContain('sent=9.5x10,10.1x12,10.1x3@gcra&t=11&row=gcra');
  const other = await open(new URL(address).hash);
  await expect.poll(() => inLab(other, (lab) => [lab.now, lab.playing])).toEqual([11_000, false]);
  await page.keyboard.press('Escape');
  await expect.poll(() => shownCounts(other)).toEqual(await shownCounts(page));
  expect(await other.locator('.sheet').getAttribute('data-sheet')).toBe('gcra');
});

test('the scene can be saved as an SVG that has every row and every mark', async () => {
  const page = await open(QUIET);
  await pause(page);
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await untilTraced(page, 10);
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as SVG' }).click(),
  ]);
  expect(file.suggestedFilename()).toBe('sluice-lab.svg');
  const svg = await (await file.createReadStream()).setEncoding('utf8').toArray();
  const text = svg.join('');
  for (const { title } of KINDS) expect(text).toContain(`>${title}</text>`);
  const parsed = await page.evaluate((markup) => {
    const document = new DOMParser().parseFromString(markup, 'image/svg+xml');
    const probe = globalThis.document.body.appendChild(globalThis.document.createElement('i'));
    probe.style.color = 'var(--allowed)';
    const blue = getComputedStyle(probe).color;
    return [document.querySelector('parsererror') === null, document.querySelectorAll(`path[fill="${blue}"]`).length];
  }, text);
  expect(parsed[0]).toBe(true);
  expect(parsed[1]).toBeGreaterThan(60);
});

test('a wrong number is refused beside its field with a sentence, and the row goes on as it was', async () => {
  const page = await open(QUIET);
  await openRow(page, 'token-bucket');
  await tab(page, 'Numbers');
  const heightOf = (label: string) => page.getByLabel(label).evaluate((input) => input.clientHeight);
  const height = await heightOf('Capacity');
  await page.getByLabel('Refill rate').fill('fast');
  const note = page.getByRole('alert');
  expect(await note.textContent()).toBe('Write units a second such as 2 or 0.5, or a rate such as 100/min or 1000/h.');
  expect(await page.getByLabel('Refill rate').getAttribute('aria-invalid')).toBe('true');
  // The field beside it is as high as before.
  expect(await heightOf('Capacity')).toBe(height);
  expect(await summary(page).textContent()).toBe('10 at once, 1/s back');
  await page.getByLabel('Refill rate').fill('120 per minute');
  await note.waitFor({ state: 'detached' });
  await expect.poll(() => summary(page).textContent()).toContain('10 at once, 2/s back');
});

test('what is typed counts when typing is over: no policy of one second on the way to 15 s', async () => {
  const page = await open(QUIET);
  await openRow(page, 'fixed-window');
  await tab(page, 'Numbers');
  await page.evaluate(() => {
    const { lab } = globalThis.sluiceLab!;
    const windows: unknown[] = [];
    Object.assign(globalThis, { windows });
    lab.onChange(() => windows.push(lab.row('fixed-window').numbers.window));
  });
  const field = page.locator('.sheet').getByLabel('Window', { exact: true });
  await field.fill('');
  await field.pressSequentially('15 sec');
  await field.press('Enter');
  await expect.poll(() => summary(page).textContent()).toContain('10 per 15 s');
  const seen = await page.evaluate(() => (globalThis as unknown as { windows: number[] }).windows);
  expect([...new Set(seen)].filter((window) => window !== 10_000 && window !== 15_000)).toEqual([]);
});

test('numbers in small fields can be read whole, and those out of range are said to be', async () => {
  const page = await open('#/?traffic=steady&rate=10000&burst=1000&cost=1000');
  for (const label of ['Requests in a burst', 'Requests per window', 'cost']) {
    const room = await page.getByLabel(label).evaluate((input) => {
      const { paddingLeft, paddingRight, font } = getComputedStyle(input);
      const context = new OffscreenCanvas(1, 1).getContext('2d')!;
      context.font = font;
      const text = context.measureText((input as HTMLInputElement).value).width;
      return input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight) - text;
    });
    expect(room, label).toBeGreaterThanOrEqual(0);
  }
  await page.getByLabel('Requests in a burst').fill('5000');
  expect(await page.getByRole('alert').textContent()).toBe('Write a whole number from 1 to 1,000.');
  expect(await page.getByLabel('Requests in a burst').getAttribute('aria-invalid')).toBe('true');
  await expect.poll(() => page.getByRole('button', { name: 'Burst 1000' }).isDisabled()).toBe(true);
  await page.getByLabel('Limit', { exact: true }).fill('none');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'Write a whole number from 1 to 1,000,000,000.' }).waitFor();
  expect(await inLab(page, (lab) => lab.limit.units)).toBe(10);
});

test('a request is seen in every picture: allowed it passes the gate, denied it bounces off', async () => {
  const page = await open(QUIET);
  await pause(page);
  await inLab(page, async (lab) => {
    await lab.send(1);
    await lab.advance(120);
  });
  const seen = () =>
    page.$$eval('.row', (rows) =>
      Object.fromEntries(
        rows.map((element) => {
          const canvas = element.querySelector<HTMLCanvasElement>('.picture')!;
          const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })!;
          copy.drawImage(canvas, 0, 0);
          // Before the gate, which is 30 pixels from the left.
          const { data } = copy.getImageData(0, 0, 29, canvas.height);
          const has = (name: string): boolean => {
            const probe = document.body.appendChild(document.createElement('i'));
            probe.style.color = `var(--${name})`;
            const color = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
            probe.remove();
            for (let at = 0; at < data.length; at += 4) {
              const isNear = color.every((part, place) => Math.abs(part - data[at + place]!) < 70);
              if (data[at + 3]! > 90 && isNear) return true;
            }
            return false;
          };
          return [(element as HTMLElement).dataset.row!, has('denied')];
        }),
      ),
    );
  const all = (isThere: boolean) => Object.fromEntries(IDS.map((id) => [id, isThere]));
  await expect.poll(seen).toEqual(all(false));
  await inLab(page, async (lab) => {
    await lab.send(12);
    await lab.advance(120);
  });
  await expect.poll(seen).toEqual(all(true));
  await inLab(page, (lab) => lab.advance(5_000));
  await expect.poll(seen).toEqual(all(false));
});

test('a row can send alone', async () => {
  const page = await open(QUIET);
  await pause(page);
  const button = page.getByRole('button', { name: 'Send to GCRA alone' });
  for (let sent = 0; sent < 3; sent += 1) await button.click({ force: true });
  const nothing = { allowed: 0, delayed: 0, denied: 0 };
  await expect
    .poll(() => shownCounts(page))
    .toEqual({ ...Object.fromEntries(IDS.map((id) => [id, nothing])), gcra: { ...nothing, allowed: 3 } });
  await expect.poll(() => page.locator('[data-verdict]').textContent()).toContain('cannot be compared');
});

test('time can be stepped, looked back at and gone on from', async () => {
  const page = await open('#/?traffic=steady&rate=10');
  await pause(page);
  const before = await inLab(page, (lab) => lab.trace.length);
  for (let step = 0; step < 4; step += 1) await page.getByRole('button', { name: 'Step to the next request' }).click();
  await expect.poll(() => inLab(page, (lab) => lab.trace.length)).toBe(before + 4);
  const total = async (): Promise<number> => {
    const counts = (await shownCounts(page))['token-bucket'];
    return (counts?.allowed ?? 0) + (counts?.denied ?? 0);
  };
  await expect.poll(total).toBe(before + 4);
  const now = await shownCounts(page);
  await page.locator('body').press('ArrowLeft');
  await page.locator('body').press('ArrowLeft');
  await expect.poll(total).toBe(before + 2);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect.poll(() => shownCounts(page)).toEqual(now);
});

test('a row opened shows its requests with their reasons, how it works, and what is left', async () => {
  const page = await open(QUIET);
  await pause(page);
  await openRow(page, 'sliding-window-log');
  await page.getByText('No request yet.').waitFor();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  await page.getByRole('button', { name: 'Burst 10' }).click();
  const lines = page.locator('.log-row');
  // Ten that say the same of one moment are one line.
  await expect.poll(() => lines.first().textContent()).toMatch(/10 in the last 10 s; retry in 10\.00 s ×10$/);
  expect(await lines.count()).toBe(11);
  await expect.poll(() => page.locator('.sheet-status').textContent()).toBe('0 left, retry in 10.0 s');
  await page.getByText('How it works').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.sheet').waitFor({ state: 'detached' });
});

test('code follows the numbers, can be copied whole, and its curl is answered by this very server', async () => {
  const page = await open('#/?traffic=manual&limit=100/1m&capacity=20&row=gcra&tab=code');
  const file = (name: string) => page.locator(`[data-file="${name}"]`);
  expect(await file('Install').locator('code').textContent()).toBe('npm install sluice express\n');
  await page.getByLabel('State in').selectOption('ioredis');
  await page.getByLabel('Limit by').selectOption('api-key');
  const code = await file('server.ts').locator('code').textContent();
  expect(code).toContain("policy: gcra({ limit: 100, period: '1m', capacity: 20 }),");
  expect(code).toContain("key: byHeader('x-api-key')");
  expect(code).toContain("client.on('error',");
  await file('server.ts').getByRole('button', { name: 'Copy' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(code);
  await page.getByLabel('Framework').selectOption('service');
  expect(await file('policies.yaml').locator('code').textContent()).toContain('    period: 1m\n    capacity: 20\n');
  const commands = (await file('Serve it').locator('code').textContent())!;
  const [, body] = /^curl -s localhost:8080\/v1\/attempt -d '(.*)'$/m.exec(commands)!;
  const policy = { ...JSON.parse(body!), policy: { algorithm: 'gcra', limit: 100, period: '1m', capacity: 20 } };
  const response = await fetch(`${bench.server.url}/v1/attempt`, { method: 'POST', body: JSON.stringify(policy) });
  expect(await response.json()).toMatchObject({ allowed: true, limit: 20, remaining: 19 });
});

test('from the first page to a recommendation and code for Express is one click', async () => {
  const page = await open('');
  await page.getByRole('link', { name: 'Choose' }).click();
  const panel = page.getByRole('region', { name: 'Recommendation' });
  expect(await panel.getByRole('heading', { level: 2 }).textContent()).toBe('Sliding window counter');
  expect(await panel.locator('[data-file="server.ts"] code').textContent()).toContain("import express from 'express';");
  await panel.locator('[data-file="server.ts"]').getByRole('button', { name: 'Copy' }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain('app.use(rateLimit({ limiter');
});

describe.each(['Server', 'Redis'])('on the engine %s', (engine) => {
  // Nothing comes back while the test looks.
  const slow = '&limit=10/1h';

  test('the server decides, and the store can be seen', async () => {
    const page = await open(QUIET + slow);
    await page.getByRole('button', { name: engine, exact: true }).click();
    await page.getByLabel('Requests in a burst').fill('12');
    await page.getByRole('button', { name: 'Burst 12' }).click();
    const all = Object.fromEntries(IDS.map((id) => [id, { allowed: 10, delayed: 0, denied: 2 }]));
    await expect
      .poll(() => shownCounts(page))
      .toEqual({ ...all, 'leaky-bucket-shaping': { allowed: 10, delayed: 9, denied: 2 } });
    await openRow(page, 'sliding-window-log');
    await tab(page, 'In the store');
    const raw = page.locator('[data-raw="sliding-window-log"]');
    await expect.poll(() => raw.textContent()).toMatch(/client/);
    expect(await raw.textContent()).toMatch(
      engine === 'Redis'
        ? /^Meaning10 units in \d+ entr.*Expires in3\d\d\d\.\d+ s.*Memory\d+ bytes.*Commands[1-9]/
        : /Commandsnone/,
    );
    await page.getByRole('button', { name: 'Reset all' }).click();
    await expect.poll(async () => (await shownCounts(page)).gcra).toEqual({ allowed: 0, delayed: 0, denied: 0 });
    await send(page).click();
    await expect.poll(() => row(page, 'gcra').getAttribute('data-remaining')).toBe('9');
  });
});

test('code on Redis is for Redis', async () => {
  const page = await open('#/?traffic=manual&engine=redis&row=token-bucket&tab=code');
  await expect
    .poll(() => page.locator('[data-file="server.ts"] code').textContent())
    .toContain('store: redisStore(client)');
});

test('a pause pauses on a server too', async () => {
  const page = await open('#/?traffic=steady&rate=200&engine=memory');
  await untilTraced(page, 10);
  await pause(page);
  const passed = async (frames: number): Promise<number> => {
    const before = await page.evaluate(() => globalThis.sluiceLab!.frames.count);
    await page.waitForFunction((count) => globalThis.sluiceLab!.frames.count > count, before + frames);
    return inLab(page, (lab) => lab.now);
  };
  // What was under way when it was pressed still comes back, on a busy machine a while later.
  let now = -1;
  const isStill = async (): Promise<boolean> => {
    const before = now;
    now = await passed(20);
    return now === before;
  };
  await expect.poll(isStill).toBe(true);
  // Frames go by, and answers to looks at the clock with them.
  const late = await passed(60);
  expect(late).toBe(now);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect.poll(() => inLab(page, (lab) => lab.now)).toBeGreaterThan(late + 500);
});

test('a Redis that hangs is said to, within two seconds, and so is its return', async () => {
  const page = await open('#/?traffic=manual&engine=redis');
  await send(page).click();
  await untilTraced(page, 1);
  const silent = page.getByRole('alert').filter({ hasText: /^Redis has not answered for \d+ s\. Still waiting\.$/ });
  process.kill(bench.redis.pid, 'SIGSTOP');
  try {
    await silent.waitFor();
  } finally {
    process.kill(bench.redis.pid, 'SIGCONT');
  }
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('a server that refuses says so in a sentence', async () => {
  const page = await open('#/?traffic=manual&engine=memory&fixed-window=window:3d');
  await send(page).click();
  const banner = page.getByRole('alert');
  await banner.waitFor();
  expect(await banner.textContent()).toMatch(/^The server does not take this: .*\.$/);
  expect(await banner.textContent()).not.toMatch(/[{}]|requestId|attempts\[/);
  opened = opened.map((one) => ({ ...one, complaints: one.complaints.filter((text) => !text.includes('400')) }));
});

test('one key each for what is done most, a sheet that says which, and a way to turn them off', async () => {
  const page = await open(QUIET);
  const body = page.locator('body');
  await body.press('s');
  await expect.poll(() => inLab(page, (lab) => lab.trace.length)).toBe(1);
  await body.press('b');
  await expect.poll(() => inLab(page, (lab) => lab.trace.length)).toBe(11);
  await body.press('Space');
  await expect.poll(() => inLab(page, (lab) => lab.playing)).toBe(false);
  await body.press('3');
  await expect.poll(() => page.locator('.sheet').getAttribute('data-sheet')).toBe('sliding-window-counter');
  await body.press('Escape');
  await page.locator('.sheet').waitFor({ state: 'detached' });
  await body.press('r');
  await expect.poll(() => inLab(page, (lab) => lab.trace.length)).toBe(0);
  await body.press('n');
  await expect.poll(() => inLab(page, (lab) => lab.story?.id)).toBe('boundary-burst');
  await body.press('?');
  const help = page.getByRole('dialog', { name: 'Help' });
  await help.getByText('Send a burst').waitFor();
  await help.getByLabel('Use these keys').uncheck();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await body.press('s');
  // A request of one's own would have ended the story.
  expect(await inLab(page, (lab) => lab.story?.id)).toBe('boundary-burst');
  // Whoever types a number types no shortcut.
  await page.getByLabel('Requests in a burst').press('1');
  expect(await page.locator('.sheet').count()).toBe(0);
});

test('everything can be reached and done by keyboard, and is said', async () => {
  const page = await open(QUIET);
  const reached = new Set<string>();
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    reached.add(
      await page.evaluate(() => {
        const { ariaLabel, textContent, id } = document.activeElement as HTMLElement;
        return ariaLabel ?? (textContent || id);
      }),
    );
  }
  for (const name of [
    'Send',
    'Burst 10',
    'Pause',
    'Reset all counters',
    'Share',
    'Twice the limit',
    'Send to GCRA alone',
  ]) {
    expect([...reached]).toContain(name);
  }
  await send(page).press('Enter');
  await expect
    .poll(() => page.locator('[data-announcer]').textContent())
    .toBe(`Request: ${KINDS.map(({ title }) => `${title} allowed`).join('; ')}.`);
});

test('a long run takes no more memory than a short one', async () => {
  const page = await open('#/?traffic=poisson&rate=2000&speed=100');
  const client = await page.context().newCDPSession(page);
  const heapAfter = async (requests: number): Promise<number> => {
    await untilTraced(page, requests);
    await pause(page);
    // What one collection finds unused, only the next one may free.
    const sizes: number[] = [];
    for (let collected = 0; collected < 4; collected += 1) {
      await client.send('HeapProfiler.collectGarbage');
      sizes.push((await client.send('Runtime.getHeapUsage')).usedSize);
    }
    await page.getByRole('button', { name: 'Play' }).click();
    return Math.min(...sizes);
  };
  const [short, long] = [await heapAfter(17_000), await heapAfter(27_000)];
  expect(long - short).toBeLessThan(300_000);
});
