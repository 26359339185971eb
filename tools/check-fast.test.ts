/** What a newcomer runs first needs no server: the tests of `npm run check:fast` can be found, and none of them imports what starts one. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { FAST_TESTS } from './check-fast.mjs';

const FILES = readdirSync('packages/sluice', { recursive: true })
  .map((file) => `packages/sluice/${String(file).replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'));

/** A file and everything of the workspace that it imports. */
function withImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(file) || statSync(file).isDirectory()) return seen;
  seen.add(file);
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'/g)) {
    withImports(resolve(dirname(file), path!), seen);
  }
  return seen;
}

test.each(FAST_TESTS)('%s: there are such tests, and they need no server', (part) => {
  const files = FILES.filter((file) => file.includes(part));
  expect(files).not.toEqual([]);
  for (const file of files) {
    const servers = [...withImports(resolve(file))].filter((each) => /tools[/\\](servers|browser|runtimes)/.test(each));
    expect(servers, file).toEqual([]);
  }
});

test('every algorithm has a test of its own, found by its name', () => {
  const folder = 'packages/sluice/src/algorithms';
  for (const name of readdirSync(folder).filter((each) => each !== 'shared')) {
    expect(readdirSync(`${folder}/${name}`)).toContain(`${name}.test.ts`);
  }
});
