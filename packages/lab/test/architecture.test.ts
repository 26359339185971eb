/** House rules of the lab: a user of the library like any other, folders without cycles, and one folder that knows algorithms by name. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { KINDS } from '../src/model/kinds/index.ts';

const root = fileURLToPath(new URL('../src', import.meta.url));
const sources = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => /\.tsx?$/.test(file));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const folderOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.');
/** All that a file imports from the lab itself, as paths from the root. */
const ownImports = (file: string): string[] =>
  [...textOf(file).matchAll(/ from '(\.[^']+)'/g)].map(([, path]) =>
    relative(root, resolve(root, dirname(file), path!)),
  );

const MAY_IMPORT = ['sluice', 'sluice/store', 'preact', 'preact/hooks', '@sluice/server/backtest/engine'];

const BANS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bexport default\b(?! \{ fetch)/, instead: 'export by name' },
  { pattern: /^\s*console\./m, instead: 'show it on the page' },
  { pattern: /\bMath\.random\(/, instead: 'use randomFrom(seed), so that it can be told again' },
  { pattern: /\binnerHTML\b/, instead: 'use textContent' },
];

/** A literal that names an algorithm or a row of one. */
const NAMES = new RegExp(
  `['"\`](?:${[...new Set(KINDS.flatMap(({ id, algorithm }) => [id, algorithm]))].join('|')})['"\`]`,
);
/** Where one stands for any: a policy to try things with. */
const EXAMPLES = ['engine/server-engine.ts', 'live/test-traffic.tsx'];

describe.each(sources)('%s', (file) => {
  const text = textOf(file);

  test('imports itself, the library and preact only', () => {
    const others = [...text.matchAll(/^(?:import|export|}).* from '([^.'][^']*)';$/gm)].map(([, name]) => name!);
    expect(others.filter((name) => !MAY_IMPORT.includes(name))).toEqual([]);
  });

  test('keeps the house rules', () => {
    expect(text, 'begins with what it is for').toMatch(/^\/\*\*/);
    for (const { pattern, instead } of BANS) expect(text, instead).not.toMatch(pattern);
    expect(text.split('\n').length, 'split it').toBeLessThanOrEqual(401);
  });

  test.skipIf(folderOf(file) === 'model' || EXAMPLES.includes(file))('knows no algorithm by its name', () => {
    expect(text.match(NAMES)?.[0], 'that belongs into model/').toBeUndefined();
  });

  test('has no function of more than 60 lines', () => {
    expect(longFunctions(text)).toEqual([]);
  });
});

/** Functions by where their body begins and ends, told by indentation, which the formatter sees to. */
function longFunctions(text: string): string[] {
  const lines = text.split('\n');
  const found: string[] = [];
  for (const [index, line] of lines.entries()) {
    const [, indent, name] =
      /^( *)(?:export )?(?:async )?(?:function\*? (\w+)|(?:readonly )?#?\w+\(.*\).*\{$)/.exec(line) ?? [];
    if (indent === undefined || (name === undefined && !/[)>\]] \{$|: \w+.* \{$/.test(line)) || / => \{$/.test(line))
      continue;
    const end = lines.findIndex((other, at) => at > index && other === `${indent}}`);
    if (end - index > 60) found.push(`${name ?? line.trim()}: ${end - index} lines`);
  }
  return found;
}

test('folders know only what lies below them: there is no cycle', () => {
  const edges = new Map<string, Set<string>>();
  for (const file of sources) {
    for (const target of ownImports(file)) {
      const [from, to] = [folderOf(file), folderOf(target)];
      if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  const cycles: string[] = [];
  const visit = (folder: string, path: readonly string[]): void => {
    if (path.includes(folder)) cycles.push([...path.slice(path.indexOf(folder)), folder].join(' -> '));
    else for (const next of edges.get(folder) ?? []) visit(next, [...path, folder]);
  };
  for (const folder of edges.keys()) visit(folder, []);
  expect([...new Set(cycles)]).toEqual([]);
});
