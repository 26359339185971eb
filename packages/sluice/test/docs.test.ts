/** The documentation cannot go stale: every TypeScript block in it is run, against the built package and real servers. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installRuntimes, RUNTIMES } from '../../../tools/runtimes/index.ts';
import { type RunningPostgres, type RunningServer, startPostgres, startServer } from '../../../tools/servers/index.ts';
import { type RunningFront, startUpstashFront } from '../../../tools/servers/upstash-front.ts';
import { blockFolder, blocksOf, type Folder, isServer, PAGES, TEXTS, textOf } from './support/doc-blocks.ts';

const root = new URL('../../../', import.meta.url);
const run = promisify(execFile);

let server: RunningServer;
let postgres: RunningPostgres;
let upstash: RunningFront;
let folder: Folder;
beforeAll(async () => {
  [server, postgres] = await Promise.all([startServer({ kind: 'redis' }), startPostgres()]);
  upstash = await startUpstashFront(server.url);
  folder = blockFolder('docs-blocks');
});
afterAll(async () => {
  folder?.remove();
  await upstash?.stop();
  await Promise.all([server?.stop(), postgres?.stop()]);
});

/** The Node that runs the tests; what it does not have, a newer one does. */
function programOf(code: string): { program: string; args: readonly string[] } {
  if (!/from '(node:sqlite|better-sqlite3)'/.test(code)) return { program: process.execPath, args: [] };
  const { program } = RUNTIMES.find(({ name }) => name === 'Node 22')!;
  return { program, args: ['--disable-warning=ExperimentalWarning'] };
}

const untilLoaded = (file: URL): string[] => [
  '--input-type=module',
  '--eval',
  `await import(${JSON.stringify(file.href)}); process.exit();`,
];

describe.each(PAGES)('%s', (page) => {
  const blocks = blocksOf(page);

  test.each(blocks.map((block) => [block.title, block] as const))('%s', async (_, block) => {
    const file = await folder.write(block);
    const { program, args } = programOf(block.code);
    if (program !== process.execPath) await installRuntimes();
    const { stderr } = await run(program, [...args, ...(isServer(page) ? untilLoaded(file) : [fileURLToPath(file)])], {
      // All blocks are of one application, which shares its limits with itself.
      env: {
        ...process.env,
        REDIS_URL: server.url,
        DATABASE_URL: postgres.url,
        SQLITE_FILE: ':memory:',
        UPSTASH_REDIS_REST_URL: upstash.url,
        UPSTASH_REDIS_REST_TOKEN: upstash.token,
        PORT: '0',
        npm_package_name: 'docs',
      },
    });
    expect(stderr).toBe('');
  });

  test.each(
    blocks.filter(({ code }) => /createClient\(|new Redis\(/.test(code)).map(({ title, code }) => [title, code]),
  )('listens to the errors of its client: %s', (_, code) => expect(code).toContain(".on('error', "));
});

test('the pages with most blocks are among them', () => {
  const few = ['api', 'verbs', 'layers', 'http', 'frameworks'].filter((page) => blocksOf(`docs/${page}.md`).length < 5);
  expect(few).toEqual([]);
  expect(PAGES.length).toBeGreaterThan(12);
});

const texts = ['CHANGELOG.md', 'CONTRIBUTING.md', 'examples/README.md', ...TEXTS];

/** As GitHub names the heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

test.each(texts)('%s links to pages and headings that exist', (page) => {
  const base = new URL(page, root);
  const links = [...textOf(page).matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)];
  for (const [link, path, anchor] of links) {
    const found = path === '' ? base : new URL(path!, base);
    expect(existsSync(found), `${link} in ${page}`).toBe(true);
    if (anchor === undefined) continue;
    const text = readFileSync(found, 'utf8');
    const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
    expect(anchors, `${link} in ${page}`).toContain(anchor);
  }
});

test('the README fits on a few screens', () => {
  expect(textOf('README.md').split('\n').length).toBeLessThan(150);
});
