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
  const named = files.filter(({ name }) => name === 'index.html' || page.includes(name));
  expect(named.map(({ name }) => name.replace(/^.*\./, '')).sort()).toEqual(['css', 'html', 'js', 'woff2']);
  // What the script itself imports comes with it; what it imports later does not.
  const script = named.find(({ name }) => name.endsWith('.js'))!;
  const code = readFileSync(`${script.parentPath}/${script.name}`, 'utf8');
  const imported = [...code.matchAll(/\bfrom"\.\/([^"]+)"/g)].map(([, name]) => name!);
  const loaded = files.filter((file) => named.includes(file) || imported.includes(file.name));
  expect(packed(loaded)).toBeLessThanOrEqual(110_000);
});

/** The page that reads logs, and its worker, which has the rules and all formats in it. */
const ofBacktest = ({ name }: { readonly name: string }): boolean => /^(?:backtest-page|log-worker)-/.test(name);

test('all pages together, with the licence of the font, at most 131 kB', () => {
  expect(files.map(({ name }) => name)).toContain('inter-license.txt');
  expect(packed(files.filter((file) => !ofBacktest(file)))).toBeLessThanOrEqual(131_000);
});

test('the page that reads logs comes when it is opened, at most 45 kB with its worker', () => {
  expect(files.filter(ofBacktest)).toHaveLength(2);
  expect(packed(files.filter(ofBacktest))).toBeLessThanOrEqual(45_000);
});

test('nothing in it is an address of somebody else', () => {
  for (const { parentPath, name } of files.filter(({ name }) => name !== 'inter-license.txt')) {
    const text = readFileSync(`${parentPath}/${name}`, 'utf8');
    const addresses = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address);
    // Names of markup, not places.
    expect(addresses.filter((address) => address !== 'http://www.w3.org')).toEqual([]);
  }
});
