/** The pages, as they are built, are small: what the first one loads, and everything there is, packed as servers pack it. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../dist/', import.meta.url));
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

const packed = (chosen: typeof files): number =>
  chosen
    .map(({ parentPath, name }) => gzipSync(readFileSync(`${parentPath}/${name}`), { level: 9 }).length)
    .reduce((sum, size) => sum + size);

test('the first page loads at most 110 kB, packed, with its font', () => {
  const page = readFileSync(`${folder}index.html`, 'utf8');
  const loaded = files.filter(({ name }) => name === 'index.html' || page.includes(name));
  expect(loaded.map(({ name }) => name.replace(/^.*\./, '')).sort()).toEqual(['css', 'html', 'js', 'woff2']);
  expect(packed(loaded)).toBeLessThanOrEqual(110_000);
});

test('all pages together, with the licence of the font, at most 125 kB', () => {
  expect(files.map(({ name }) => name)).toContain('inter-license.txt');
  expect(packed(files)).toBeLessThanOrEqual(125_000);
});

test('nothing in it is an address of somebody else', () => {
  for (const { parentPath, name } of files.filter(({ name }) => name !== 'inter-license.txt')) {
    const text = readFileSync(`${parentPath}/${name}`, 'utf8');
    const addresses = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address);
    // Names of markup, not places.
    expect(addresses.filter((address) => address !== 'http://www.w3.org')).toEqual([]);
  }
});
