/** The whole page, as it is built, is small: everything it ever loads, packed as servers pack it. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../dist/', import.meta.url));
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

test('at most 118 kB, packed, with the font and its licence', () => {
  const sizes = files.map(
    ({ parentPath, name }) => gzipSync(readFileSync(`${parentPath}/${name}`), { level: 9 }).length,
  );
  expect(files.map(({ name }) => name)).toContain('inter-license.txt');
  expect(files.some(({ name }) => name.endsWith('.woff2'))).toBe(true);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(118_000);
});

test('nothing in it is an address of somebody else', () => {
  for (const { parentPath, name } of files.filter(({ name }) => name !== 'inter-license.txt')) {
    const text = readFileSync(`${parentPath}/${name}`, 'utf8');
    const addresses = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address);
    // Names of markup, not places.
    expect(addresses.filter((address) => address !== 'http://www.w3.org')).toEqual([]);
  }
});
