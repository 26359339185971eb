/** A recipe is one page and one file: the page shows the file as it is, and what it prints. `SLUICE_UPDATE_PAGES=1` writes both into the page. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runExample } from './run-example.ts';

const FILES = readdirSync(new URL('recipes/', import.meta.url)).map((file) => file.replace('.ts', ''));
const pageOf = (name: string): URL => new URL(`../docs/recipes/${name}.md`, import.meta.url);
const blocksOf = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block!);

test.each(FILES)('%s prints what its page says, and nothing else', async (name) => {
  const code = readFileSync(new URL(`recipes/${name}.ts`, import.meta.url), 'utf8');
  const { stdout, stderr } = await runExample(`recipes/${name}`);
  expect(stderr).toBe('');
  if (process.env.SLUICE_UPDATE_PAGES !== undefined) update(pageOf(name), code, stdout);
  const page = readFileSync(pageOf(name), 'utf8');
  expect(blocksOf(page, 'ts')[0]).toBe(code);
  expect(blocksOf(page, 'text')[0]).toBe(stdout);
  expect(page).toContain(`node examples/run.mjs recipes/${name}`);
});

test('every recipe is on the list', () => {
  const list = readFileSync(new URL('../docs/recipes/README.md', import.meta.url), 'utf8');
  const pages = readdirSync(new URL('../docs/recipes/', import.meta.url)).filter((file) => file !== 'README.md');
  expect(pages.filter((page) => !list.includes(`](${page})`))).toEqual([]);
  expect(FILES.length).toBeGreaterThan(12);
});

function update(file: URL, code: string, printed: string): void {
  const page = readFileSync(file, 'utf8')
    .replace(/^```ts\n.*?^```$/ms, () => `\`\`\`ts\n${code}\`\`\``)
    .replace(/^```text\n.*?^```$/ms, () => `\`\`\`text\n${printed}\`\`\``);
  writeFileSync(file, page);
}
