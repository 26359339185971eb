/** The built page, given out by the built server on a real Redis, in a real Chromium. Whatever it complains of, or asks others for, is kept. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from '../../../../tools/browser.ts';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { type ServingProcess, serve } from '../../../server/test/processes.ts';
import type { Lab } from '../../src/lab/lab.ts';

export interface Bench {
  readonly redis: RunningServer;
  readonly server: ServingProcess;
  readonly browser: Browser;
  open(hash?: string, options?: BrowserContextOptions): Promise<OpenPage>;
  stop(): Promise<void>;
}

export interface OpenPage {
  readonly page: Page;
  /** Errors at the console, and those nobody caught. */
  readonly complaints: string[];
  /** Requests to anyone but the server. */
  readonly foreign: string[];
  close(): Promise<void>;
}

export async function openBench(): Promise<Bench> {
  const redis = await startServer({ kind: 'redis' });
  // A long deadline: on a busy machine nothing is to be answered by anybody but Redis.
  const server = await serve(['--redis', redis.url, '--deadline', '30s']);
  const browser = await launchBrowser();
  return {
    redis,
    server,
    browser,
    open: (hash = '', options = {}) => openPage(browser, server.url, hash, options),
    async stop() {
      await browser.close();
      await server.stop();
      await redis.stop();
    },
  };
}

export async function openPage(
  browser: Browser,
  url: string,
  hash: string,
  options: BrowserContextOptions,
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 1000 },
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  // On a busy machine everything comes, only later.
  context.setDefaultTimeout(100_000);
  const page = await context.newPage();
  const [complaints, foreign]: [string[], string[]] = [[], []];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  await page.goto(`${url}/${hash}`);
  await page.waitForSelector('main *');
  return { page, complaints, foreign, close: () => context.close() };
}

/** The page's own lab, for what cannot be seen from outside. */
export function inLab<Result, Argument>(
  page: Page,
  look: (lab: Lab, argument: Argument) => Result,
  argument?: Argument,
): Promise<Result> {
  return page.evaluate(
    // The function travels as text, so the page runs what is written in the test.
    ([text, given]) => new Function('lab', 'given', `return (${text})(lab, given)`)(globalThis.sluiceLab!.lab, given),
    [look.toString(), argument] as const,
  ) as Promise<Result>;
}

export interface Shown {
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
}

/** The numbers of each row, as they stand in the page. */
export async function shownCounts(page: Page): Promise<Record<string, Shown>> {
  return page.$$eval('.row', (rows) =>
    Object.fromEntries(
      rows.map((row) => {
        const { allowed, delayed, denied } = row.querySelector<HTMLElement>('.row-numbers')!.dataset;
        const numbers = { allowed: Number(allowed), delayed: Number(delayed), denied: Number(denied) };
        // What can be read is what is said to programs.
        const read = Number(row.querySelector('[data-count]')!.textContent!.replaceAll(',', ''));
        return [(row as HTMLElement).dataset.row!, read === numbers.allowed ? numbers : undefined];
      }),
    ),
  ) as Promise<Record<string, Shown>>;
}

export async function untilTraced(page: Page, count: number): Promise<void> {
  await page.waitForFunction((least) => globalThis.sluiceLab!.lab.trace.length >= least, count);
}
