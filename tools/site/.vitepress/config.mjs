/** The site as VitePress builds it, from what tools/site/build.mjs has put into .stage/. */

import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';

const { sidebar, base, outDir } = JSON.parse(readFileSync(new URL('../.stage/site.json', import.meta.url), 'utf8'));

/** As GitHub names a heading, so that links work in both places. */
function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

const isIn = (section) => `^${section}`;

// biome-ignore lint/style/noDefaultExport: VitePress reads it
export default defineConfig({
  title: 'Sluice',
  description:
    'Rate limiting for Node, the edge and any other stack: atomic on Redis, and it keeps answering when Redis does not.',
  lang: 'en',
  base,
  outDir,
  srcDir: '.stage/pages',
  cacheDir: '.stage/cache',
  cleanUrls: true,
  // The sidebar once, and not in every page.
  metaChunk: true,
  // Addresses with a port in them, in examples.
  ignoreDeadLinks: [/^https?:\/\/localhost/, /^\/lab\//],
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}mark.svg` }]],
  markdown: { anchor: { slugify: anchorOf }, theme: { light: 'github-light', dark: 'github-dark' } },
  vite: { logLevel: 'warn', build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    logo: '/mark.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar,
    nav: [
      { text: 'Start', link: '/start/first-limit', activeMatch: isIn('/start/') },
      { text: 'Learn', link: '/learn/which-algorithm', activeMatch: isIn('/(learn|algorithms)/') },
      { text: 'Recipes', link: '/recipes/', activeMatch: isIn('/recipes/') },
      { text: 'Reference', link: '/reference/', activeMatch: isIn('/(reference|errors)/') },
      {
        text: 'Lab',
        items: [
          { text: 'The lab', link: '/lab/', target: '_self' },
          { text: 'Chooser: which algorithm?', link: '/lab/#/choose', target: '_self' },
          { text: 'Backtest: which limit?', link: '/lab/#/backtest', target: '_self' },
        ],
      },
    ],
    docFooter: { prev: 'Previous page', next: 'Next page' },
  },
});
