/** The TypeScript blocks of the documentation, as files that can be run. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { transformWithOxc } from 'vite';

const root = new URL('../../../../', import.meta.url);

/** Everything that is written for readers, but for the pages of errors, which have a test of their own. */
export const TEXTS: readonly string[] = [
  'README.md',
  'packages/sluice/README.md',
  ...readdirSync(new URL('docs/', root), { recursive: true })
    .map((file) => `docs/${file}`)
    .filter((file) => file.endsWith('.md') && !file.startsWith('docs/errors/'))
    .sort(),
];

/** A recipe is a file of the examples, too: their test runs it, and compares what it prints. */
const isRecipe = (page: string): boolean =>
  existsSync(new URL(page.replace(/^docs\/recipes\/(.+)\.md$/, 'examples/recipes/$1.ts'), root)) &&
  page.startsWith('docs/recipes/');

/** Those with TypeScript in them. */
export const PAGES: readonly string[] = TEXTS.filter((page) => textOf(page).includes('```ts\n') && !isRecipe(page));

/** Pages with blocks that are servers: they would run on, since nobody closes the client of a server. */
export const isServer = (page: string): boolean =>
  /README\.md$|getting-started\.md$|frameworks\.md$|(migrating|engines|start|learn|operate|compare)\//.test(page);

export interface Block {
  readonly page: string;
  readonly index: number;
  readonly code: string;
  /** What to call it: its first line that is not an import. */
  readonly title: string;
}

export function textOf(page: string): string {
  return readFileSync(new URL(page, root), 'utf8');
}

export function blocksOf(page: string): Block[] {
  return [...textOf(page).matchAll(/```ts\n(.*?)```/gs)].map(([, code = ''], index) => {
    const title = code.split('\n').find((line) => !line.startsWith('import') && line !== '') ?? '';
    return { page, index, code, title };
  });
}

export interface Folder {
  /** Writes a block as a module, or what was made of it. */
  write(block: Block, code?: string): Promise<URL>;
  remove(): void;
}

/** Inside the workspace, so that `sluice` and the clients resolve as they would for a user; not in a package, which others may be packing. */
export function blockFolder(name: string): Folder {
  const folder = new URL(`.cache/${name}-${process.pid}/`, root);
  mkdirSync(folder, { recursive: true });
  return {
    async write({ page, index, code: own }, code = own) {
      const file = new URL(`${page.replace(/\W/g, '-')}-${index}.mjs`, folder);
      writeFileSync(file, (await transformWithOxc(code, 'block.ts', { decorator: { legacy: true } })).code);
      return file;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
