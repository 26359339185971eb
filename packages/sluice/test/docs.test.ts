/** The documentation cannot go stale: every TypeScript block in it is run, against the built package and a real Redis. */

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformWithOxc } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';

const root = new URL('../../../', import.meta.url);
/** Inside the workspace, so that `sluice` and the clients resolve as they would for a user; not in a package, which others may be packing. */
const folder = new URL(`.cache/docs-blocks-${process.pid}/`, root);
const run = promisify(execFile);

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  mkdirSync(folder, { recursive: true });
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

const blocksOf = (page: string): string[] =>
  [...readFileSync(new URL(page, root), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);

/** Pages that show few things. */
const short = [
  'docs/faults.md',
  ...readdirSync(new URL('docs/migrating/', root)).map((file) => `docs/migrating/${file}`),
];
const pages = [
  ...['README.md', 'docs/api.md', 'docs/verbs.md', 'docs/layers.md', 'docs/http.md', 'docs/frameworks.md'],
  ...short,
];

describe.each(pages)('%s', (page) => {
  const blocks = blocksOf(page);

  test('has blocks to run', () => expect(blocks.length).toBeGreaterThan(short.includes(page) ? 0 : 4));

  test.each(
    blocks.map(
      (code, index) =>
        [code.split('\n').find((line) => !line.startsWith('import') && line !== ''), index, code] as const,
    ),
  )('%s', async (_, index, code) => {
    const file = new URL(`${page.replace(/\W/g, '-')}-${index}.mjs`, folder);
    writeFileSync(file, (await transformWithOxc(code, 'block.ts')).code);
    const { stderr } = await run(process.execPath, [fileURLToPath(file)], {
      env: { ...process.env, REDIS_URL: server.url },
    });
    expect(stderr).toBe('');
  });

  test('links to pages that exist', () => {
    const base = new URL(page, root);
    const links = [...readFileSync(base, 'utf8').matchAll(/\]\(([^)#:]+)\)/g)].map(([, link]) => new URL(link!, base));
    for (const link of links)
      expect(() => readFileSync(link.pathname.endsWith('/') ? new URL('README.md', link) : link)).not.toThrow();
  });
});
