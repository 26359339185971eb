/**
 * Every name that a package exports, by subpath, with its TSDoc comment: `node tools/exported-names.mjs` lists those without one. Comments are what an
 * editor shows on hover, so a name without one is a riddle. Follows re-exports through the sources; what is declared elsewhere is not ours.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
export const PACKAGES = ['packages/sluice', 'packages/server'];

/** `{ package, subpath, name, file, comment }` of each name; `comment` is undefined when there is none. */
export function exportedNames(packages = PACKAGES) {
  return packages.flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
    return Object.entries(exports).flatMap(([subpath, target]) => {
      if (typeof target === 'string') return [];
      const entry = join(ROOT, folder, target.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));
      const found = [...namesOf(entry).entries()];
      return found.map(([exported, declared]) => ({ from: join(name, subpath), name: exported, ...declared }));
    });
  });
}

/** The names that a file exports: its own, and those it passes on. */
function namesOf(file) {
  const text = readFileSync(file, 'utf8');
  const names = new Map();
  for (const [, path] of text.matchAll(/^export \* from '(\.[^']+)'/gm)) {
    for (const [name, declared] of namesOf(resolve(dirname(file), path))) names.set(name, declared);
  }
  for (const [, list, path] of text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gm)) {
    for (const part of list
      .split(',')
      .map((each) => each.trim().replace(/^type /, ''))
      .filter(Boolean)) {
      const [name, alias = name] = part.split(/ as /);
      const source = path === undefined ? importedFrom(text, name) : path;
      if (source === undefined) names.set(alias, declarationIn(file, text, name));
      else if (source.startsWith('.'))
        names.set(alias, namesOf(resolve(dirname(file), source)).get(name) ?? declarationOf(file, source, name));
    }
  }
  for (const [, name] of text.matchAll(DECLARED)) names.set(name, declarationIn(file, text, name));
  return names;
}

const KINDS = 'function|const|class|interface|type|enum|abstract class|async function|function\\*';
const DECLARED = new RegExp(`^export (?:declare )?(?:${KINDS}) (\\w+)`, 'gm');

function importedFrom(text, name) {
  const found = new RegExp(`^import (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from '([^']+)'`, 'm').exec(text);
  return found?.[1];
}

function declarationOf(file, path, name) {
  const target = resolve(dirname(file), path);
  return declarationIn(target, existsSync(target) ? readFileSync(target, 'utf8') : '', name);
}

/** Of several overloads the first is what an editor shows. */
function declarationIn(file, text, name) {
  const found = new RegExp(`^(?:export )?(?:declare )?(?:${KINDS}) ${name}\\b`, 'm').exec(text);
  // A decorator, or a word to the linter, may stand between a name and its comment.
  const before =
    found === null
      ? ''
      : text
          .slice(0, found.index)
          .trimEnd()
          .replace(/(\n(@|\/\/)[^\n]*)+$/, '');
  const comment = before.endsWith('*/') ? before.slice(before.lastIndexOf('/**')) : undefined;
  // A comment at the head of a file is the file's.
  const isHead = comment !== undefined && before === comment && text.slice(found.index - 2, found.index) === '\n\n';
  return { file: relative(ROOT, file), comment: isHead ? undefined : comment };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = exportedNames();
  const bare = names.filter(({ comment }) => comment === undefined);
  for (const { from, name, file } of bare) console.log(`${file}: ${name} (${from})`);
  console.log(`${bare.length} of ${names.length} exported names have no TSDoc comment.`);
}
