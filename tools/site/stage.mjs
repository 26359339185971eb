/**
 * The pages of the site as VitePress reads them: the Markdown files of the project at their addresses, with links from page to page made addresses of
 * the site. What they link to and is no page, a program or a configuration, becomes a page that shows it.
 */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { addressOf, OUTSIDE } from './map.mjs';

/** Stories of the lab that show what is special about an algorithm. */
const STORIES = {
  'fixed-window': 'boundary-burst',
  'sliding-window-counter': 'boundary-burst',
  'sliding-window-log': 'boundary-burst',
  'token-bucket': 'idle-then-burst',
  gcra: 'idle-then-burst',
  'leaky-bucket': 'smooth-webhooks',
  concurrency: 'in-flight',
};

/** Long, and not what is looked for: the index of the search is smaller without. */
const UNSEARCHED = /^\/(decisions\/.|operate\/benchmarks\/.|reference\/cases|changelog)/;

/** Writes all pages below `folder` and returns their addresses and titles. */
export function stagePages(root, folder) {
  const files = projectPages(root);
  const sources = new Set();
  const pages = files.map((file) => {
    const address = addressOf(file);
    const text = readFileSync(join(root, file), 'utf8');
    const head = UNSEARCHED.test(address) && !text.startsWith('---') ? '---\nsearch: false\n---\n' : '';
    writePage(folder, address, head + withLab(file, withSiteLinks(root, file, text, sources)));
    return { file, address, title: titleOf(text) };
  });
  for (const source of sources) writePage(folder, sourceAddress(source), sourcePage(root, source));
  mkdirSync(join(folder, 'public'), { recursive: true });
  cpSync(join(root, 'docs/images'), join(folder, 'public/images'), { recursive: true });
  return pages;
}

export function projectPages(root) {
  const inside = readdirSync(join(root, 'docs'), { recursive: true }).map((file) => `docs/${file}`);
  const results = readdirSync(join(root, 'bench/results')).map((file) => `bench/results/${file}`);
  const gateways = readdirSync(join(root, 'examples/gateways'), { recursive: true }).map(
    (file) => `examples/gateways/${file}`,
  );
  return [...inside, ...results, ...gateways, ...OUTSIDE].filter((file) => file.endsWith('.md')).sort();
}

export function titleOf(markdown) {
  const [, title = ''] = /^# (.+)$/m.exec(markdown) ?? [];
  return title.replaceAll('`', '');
}

/** `/start/` is start/index.md, `/start/express` is start/express.md. */
export function writePage(folder, address, text) {
  const file = join(folder, address.endsWith('/') ? `${address}index.md` : `${address}.md`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Blocks and inline code stay as they are. */
function withSiteLinks(root, file, text, sources) {
  return text
    .split(/(^ *(?:```|~~~)[\s\S]*?^ *(?:```|~~~)|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 1 && !part.startsWith('`[') ? part : replaceLinks(root, file, part, sources)))
    .join('');
}

/** The text of a link may be code, which was cut out: only its second half is looked at. */
function replaceLinks(root, file, text, sources) {
  return text.replace(/\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (_, path, anchor = '') => {
    const target = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '');
    return `](${siteAddress(root, target, sources, file)}${anchor})`;
  });
}

function siteAddress(root, target, sources, from) {
  if (!existsSync(join(root, target))) throw new Error(`${from} links to ${target}, which is not there`);
  if (target.startsWith('docs/images/')) return `/images/${posix.basename(target)}`;
  const isFolder = statSync(join(root, target)).isDirectory();
  const file = isFolder ? `${target}/README.md` : target;
  const address = addressOf(file);
  if (address !== undefined && existsSync(join(root, file))) return address;
  sources.add(target);
  return sourceAddress(target);
}

/** The ending is part of the name, and not that of a page. */
function sourceAddress(file) {
  return `/source/${file.replaceAll('.', '-')}`;
}

const LANGUAGES = {
  '.ts': 'ts',
  '.mjs': 'js',
  '.js': 'js',
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.lua': 'lua',
  '.json': 'json',
  '.proto': 'proto',
};

/** A folder is shown file by file. */
function sourcePage(root, path) {
  const isFolder = statSync(join(root, path)).isDirectory();
  const names = isFolder
    ? readdirSync(join(root, path), { withFileTypes: true }).filter((entry) => entry.isFile())
    : [];
  const blocks = isFolder
    ? names.map(({ name }) => `## ${name}\n\n${sourceBlock(root, `${path}/${name}`)}`)
    : [sourceBlock(root, path)];
  return `---\nsearch: false\n---\n# ${path}\n\n${blocks.join('\n')}`;
}

function sourceBlock(root, file) {
  const text = readFileSync(join(root, file), 'utf8');
  const language = LANGUAGES[extname(file)] ?? (file.endsWith('Dockerfile') ? 'docker' : 'text');
  return `\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

/** The lab below the first paragraph of an algorithm's page. */
function withLab(file, text) {
  const [, name] = /^docs\/algorithms\/(.+)\.md$/.exec(file) ?? [];
  if (STORIES[name] === undefined) return text;
  const [head, ...rest] = text.split(/(?<=^# .+\n\n(?:.+\n)+)\n/m);
  return `${head}\n<LabFrame story="${STORIES[name]}" row="${name}" />\n\n${rest.join('\n')}`;
}
