/** The numbers that readers see are those of the last run: RESULTS.md and the README's are made of bench/results again, and compared. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { allGroups } from '../bench/groups.mjs';
import { pagesOf, readRecords } from '../bench/report/pages.mjs';

const records: readonly { readonly name: string }[] = readRecords();

test('RESULTS.md and the numbers in README.md come from bench/results', () => {
  const readme = readFileSync('README.md', 'utf8');
  const pages = pagesOf(records, readme);
  expect(readme).toBe(pages.readme);
  expect(readFileSync('bench/RESULTS.md', 'utf8')).toBe(pages.results);
});

test('every record is of a group that there is, and has its tables', () => {
  const groups = readdirSync('bench/groups').map((file) => file.replace('.mjs', ''));
  expect(records.length).toBeGreaterThan(5);
  for (const { name } of records) {
    expect(groups).toContain(name);
    expect(existsSync(`bench/results/${name}.md`), name).toBe(true);
  }
});

test('every group can be loaded, and says what it is', async () => {
  for (const { name, title, about, place, run, isBroken } of await allGroups()) {
    expect([name, isBroken, about]).toEqual([name, undefined, expect.any(String)]);
    expect([typeof title, typeof place, typeof run]).toEqual(['string', 'number', 'function']);
  }
});

test('the page for readers holds nobody to anything', () => {
  expect(readFileSync('bench/RESULTS.md', 'utf8')).not.toMatch(/\btargets?\b|\bat least \d|\bat most \d|\bNO\b/);
});
