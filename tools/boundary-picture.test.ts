/** The moving picture of the README shows what the library answers, and is small. */
import { readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { answers, FILE, pictureOf } from './boundary-picture.mjs';

test('it is made of the answers of today: node tools/boundary-picture.mjs', async () => {
  const rows = await answers();
  const counts = rows.map(({ name, marks }) => [name, marks.filter(({ allowed }) => allowed).length]);
  expect(counts).toEqual([
    ['Fixed window', 20],
    ['Sliding counter', 11],
    ['Sliding log', 10],
    ['Token bucket', 10],
  ]);
  expect(readFileSync(FILE, 'utf8')).toBe(pictureOf(rows));
  expect(statSync(FILE).size).toBeLessThan(300_000);
});
