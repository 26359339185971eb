/**
 * What `npm run lab:static` runs: the lab as a folder for any static host, at any path. Beside the page each story has a page of its own, with a title, a
 * description and a preview picture, because crawlers read no hashes.
 */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';
import { workspaceFolder } from './steps.mjs';

const HELP = `Usage: npm run lab:static -- [--out FOLDER] [--base URL] [--docs URL] [--source URL]

  --out FOLDER    where it goes; lab-static by default. What is there is replaced
  --base URL      where it will be, such as https://example.org/lab/: previews need whole addresses
  --docs URL      a link to the documentation, in the head of the page and in its help
  --source URL    a link to the source
`;

const OPTIONS = {
  out: { type: 'string', default: 'lab-static' },
  base: { type: 'string', default: '' },
  docs: { type: 'string', default: '' },
  source: { type: 'string', default: '' },
  help: { type: 'boolean', default: false },
};

const LAB = join(workspaceFolder, 'packages', 'lab');

function main() {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    console.log(HELP.trimEnd());
    return;
  }
  return make(values);
}

async function make({ out, base, docs, source }) {
  const folder = resolve(out);
  const { PLANS } = (await runnerImport(join(LAB, 'src', 'model', 'stories', 'index.ts'))).module;
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(LAB, 'dist'), folder, { recursive: true });
  cpSync(join(LAB, 'previews'), join(folder, 'previews'), { recursive: true });
  const page = withLinks(readFileSync(join(folder, 'index.html'), 'utf8'), { docs, source });
  const address = (path) => (base === '' ? path : new URL(path, base).href);
  writeFileSync(join(folder, 'index.html'), withPreview(page, address(`previews/${PLANS[0].id}.png`)));
  for (const plan of PLANS) {
    mkdirSync(join(folder, 'story', plan.id), { recursive: true });
    writeFileSync(join(folder, 'story', plan.id, 'index.html'), storyPage(page, plan, address));
  }
  console.log(`${PLANS.length + 1} pages in ${folder}`);
}

function withLinks(html, { docs, source }) {
  const metas = [
    ...(docs === '' ? [] : [`<meta name="sluice-docs" content="${escaped(docs)}" />`]),
    ...(source === '' ? [] : [`<meta name="sluice-source" content="${escaped(source)}" />`]),
  ];
  return html.replace('<title>', `${metas.join('')}<title>`);
}

function withPreview(html, image) {
  const tags = `<meta property="og:image" content="${escaped(image)}" /><meta name="twitter:card" content="summary_large_image" />`;
  return html.replace('<title>', `${tags}<title>`);
}

/** The same page, two folders deeper. */
function storyPage(html, { id, title, description }, address) {
  const named = html
    .replace(/<title>.*?<\/title>/, `<title>${escaped(title)} · Sluice</title>`)
    .replace(/(<meta name="description" content=")[^"]*/, `$1${escaped(description)}`)
    .replace(/(<meta property="og:title" content=")[^"]*/, `$1${escaped(title)}`)
    .replace(/(<meta property="og:description" content=")[^"]*/, `$1${escaped(description)}`)
    .replace('<title>', `<meta name="sluice-story" content="${id}" /><title>`)
    .replaceAll(/(src|href)="\.\//g, '$1="../../');
  const image = address(`previews/${id}.png`);
  return withPreview(named, image.startsWith('previews/') ? `../../${image}` : image);
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

await main();
