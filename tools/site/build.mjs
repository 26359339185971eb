/**
 * What `npm run docs` runs: the documentation as a folder for any static host. Pages are staged below tools/site/.stage, the reference is made of the
 * library's comments, the lab is put beside them, and VitePress makes the site of it.
 */

import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { llmsFull, llmsIndex } from '../docs/llms.mjs';
import { runQuietly, workspaceFolder } from '../steps.mjs';
import { sidebarOf } from './map.mjs';
import { stagePages } from './stage.mjs';

const HELP = `Usage: npm run docs -- [--out FOLDER] [--base PATH]

  --out FOLDER    where it goes; docs-static by default. What is there is replaced
  --base PATH     where it will be on its host, such as /sluice/; / by default
`;

const OPTIONS = {
  out: { type: 'string', default: 'docs-static' },
  base: { type: 'string', default: '/' },
  help: { type: 'boolean', default: false },
};

const SITE = fileURLToPath(new URL('.', import.meta.url));
const STAGE = join(SITE, '.stage');
const PAGES = join(STAGE, 'pages');

async function main() {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) return console.log(HELP.trimEnd());
  const outDir = resolve(values.out);
  const base = `/${values.base.replace(/^\/|\/$/g, '')}/`.replace('//', '/');
  await install();
  const steps = [
    ['the pages and the reference', () => stage(base, outDir)],
    ['the lab', lab],
    ['the site', async () => (await import('vitepress')).build(SITE)],
  ];
  for (const [what, step] of steps) {
    const start = performance.now();
    await step();
    console.error(`Made ${what}: ${((performance.now() - start) / 1e3).toFixed(1)} s`);
  }
  console.log(`The site is in ${outDir}`);
}

/** VitePress and TypeDoc are not dependencies of the workspace: they have a Vite and a TypeScript of their own. */
async function install() {
  // npm writes its own copy of the lock last, when everything in it is in place.
  const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map(
    (file) => statSync(join(SITE, file), { throwIfNoEntry: false })?.mtimeMs,
  );
  if (installed !== undefined && installed >= wanted) return;
  const options = ['--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const isThere = await runQuietly('Installing VitePress and TypeDoc (npm ci)', 'npm', [
    'ci',
    '--prefix',
    SITE,
    ...options,
  ]);
  if (!isThere) throw new Error('VitePress could not be installed.');
}

async function stage(base, outDir) {
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(PAGES, { recursive: true });
  const { stageReference } = await import('./reference.mjs');
  const reference = await stageReference(workspaceFolder, PAGES);
  const pages = stagePages(workspaceFolder, PAGES);
  await cp(join(SITE, 'pages'), PAGES, { recursive: true });
  const { sections, homeless } = sidebarOf([...pages, ...reference]);
  if (homeless.length > 0)
    throw new Error(`No section of the sidebar has ${homeless.join(', ')}: see tools/site/map.mjs`);
  writeFileSync(join(STAGE, 'site.json'), JSON.stringify({ base, outDir, sidebar: sections }));
  writeFileSync(join(PAGES, 'public/llms.txt'), llmsIndex(workspaceFolder, base));
  writeFileSync(join(PAGES, 'public/llms-full.txt'), llmsFull(workspaceFolder));
}

/** Built by `npm run build`. */
async function lab() {
  if (!existsSync(join(workspaceFolder, 'packages/lab/dist/index.html'))) {
    throw new Error('The lab is not built: npm run build');
  }
  const script = join(workspaceFolder, 'tools/lab-static.mjs');
  const args = [script, '--out', join(PAGES, 'public/lab'), '--docs', '../'];
  if (!(await runQuietly('Copying the lab', process.execPath, args))) throw new Error('The lab could not be copied.');
}

await main();
