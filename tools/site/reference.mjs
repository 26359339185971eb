/** The reference: what TypeDoc reads of the library's comments, a page for each subpath that people can import. */

import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';

const OPTIONS = {
  plugin: ['typedoc-plugin-markdown'],
  logLevel: 'Error',
  readme: 'none',
  // The workspace's own compiler checks types; this one only reads them.
  skipErrorChecking: true,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  kindSortOrder: ['Function', 'Class', 'Variable', 'Interface', 'TypeAlias', 'Reference'],
  entryFileName: 'index',
  outputFileStrategy: 'modules',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  // VitePress numbers headings of one name otherwise than TypeDoc does.
  useHTMLAnchors: true,
  sanitizeComments: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideSources: true, hideInherited: true, hideOverrides: true },
};

/** Writes the pages to `reference/` below `folder`, whose content is replaced, and returns their addresses and titles. */
export async function stageReference(root, folder) {
  const subpaths = subpathsOf(root);
  const out = join(folder, 'reference');
  const app = await Application.bootstrapWithPlugins({
    ...OPTIONS,
    name: 'Reference',
    out,
    tsconfig: join(root, 'tools/site/tsconfig.reference.json'),
    entryPoints: subpaths.map(({ source }) => join(root, source)),
  });
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc could not read the library.');
  for (const module of project.children) {
    const { name } = subpaths.find(({ source }) => nameOfModule(source) === module.name) ?? {};
    if (name === undefined) throw new Error(`No subpath of the package is made of ${module.name}.`);
    module.name = name;
  }
  await app.generateOutputs(project);
  renameNumbered(out);
  const pages = subpaths.map(({ name }) => ({ address: `/reference/${name}`, title: name }));
  return [{ address: '/reference/', title: 'All subpaths' }, ...pages];
}

/** As `exports` of the package has them, with the source that each is made of. */
function subpathsOf(root) {
  const { exports } = JSON.parse(readFileSync(join(root, 'packages/sluice/package.json'), 'utf8'));
  const entries = Object.entries(exports).filter(([, target]) => typeof target === 'object');
  return entries.map(([path, target]) => ({
    name: path === '.' ? 'sluice' : `sluice${path.slice(1)}`,
    source: target.default.replace('./dist/', 'packages/sluice/src/').replace(/\.js$/, '.ts'),
  }));
}

/** By its path below src/; TypeDoc leaves out `/index`. */
function nameOfModule(source) {
  const name = source.replace('packages/sluice/src/', '').replace(/\.ts$/, '');
  return name === 'index' ? name : name.replace(/\/index$/, '');
}

/** A module that has the name of a type, but for case, is numbered: `store-1` is `store` here. */
function renameNumbered(out) {
  const files = readdirSync(out, { recursive: true }).filter((file) => file.endsWith('.md'));
  const numbered = files.filter((file) => /-\d\.md$/.test(file));
  for (const file of files) {
    const text = readFileSync(join(out, file), 'utf8');
    writeFileSync(join(out, file), text.replace(/(\(|\/)([\w-]+)-\d\.md/g, '$1$2.md'));
  }
  for (const file of numbered) renameSync(join(out, file), join(out, file.replace(/-\d\.md$/, '.md')));
}
