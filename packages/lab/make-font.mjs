/**
 * Makes src/theme/inter.woff2, the part of the font Inter that the page uses: `npm install --no-save subset-font @fontsource-variable/inter`, then
 * `node packages/lab/make-font.mjs`. The result is committed, so nothing of this is needed to build the page.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import subsetFont from 'subset-font';

/** What can be typed on any keyboard, and the few signs that texts of the page use. */
const TYPED = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('');
const CHARACTERS = `${TYPED}×·…–−’“”→←↑↓`;

const require = createRequire(import.meta.url);
const folder = require.resolve('@fontsource-variable/inter/package.json').replace('package.json', '');
const font = await readFile(`${folder}files/inter-latin-wght-normal.woff2`);
const subset = await subsetFont(font, CHARACTERS, {
  targetFormat: 'woff2',
  variationAxes: { wght: { min: 400, max: 680 } },
  // Digits of one width, and pairs that need more or less room.
  keepFeatures: ['tnum', 'kern'],
});
await writeFile(fileURLToPath(new URL('src/theme/inter.woff2', import.meta.url)), subset);
await writeFile(
  fileURLToPath(new URL('public/inter-license.txt', import.meta.url)),
  await readFile(`${folder}LICENSE`),
);
console.log(`src/theme/inter.woff2: ${subset.length} bytes`);
