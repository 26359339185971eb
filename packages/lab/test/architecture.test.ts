/** House rules of the lab: a user of the library like any other, and the words before the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../src', import.meta.url));
const sources = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => /\.tsx?$/.test(file));

const MAY_IMPORT = ['sluice', 'preact', 'preact/hooks'];

const BANS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bexport default\b/, instead: 'export by name' },
  { pattern: /\bconsole\./, instead: 'show it on the page' },
  { pattern: /\bMath\.random\(/, instead: 'use randomFrom(seed), so that it can be told again' },
  { pattern: /\binnerHTML\b/, instead: 'use textContent' },
];

describe.each(sources)('%s', (file) => {
  const text = readFileSync(join(root, file), 'utf8');

  test('imports itself, the library and preact only', () => {
    const others = [...text.matchAll(/^(?:import|export|}).* from '([^.'][^']*)';$/gm)].map(([, name]) => name!);
    expect(others.filter((name) => !MAY_IMPORT.includes(name))).toEqual([]);
  });

  test('keeps the house rules', () => {
    expect(text, 'begins with what it is for').toMatch(/^\/\*\*/);
    for (const { pattern, instead } of BANS) expect(text, instead).not.toMatch(pattern);
  });
});
