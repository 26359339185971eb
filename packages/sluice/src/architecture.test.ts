/** House rules as tests: who may import whom, and the few bans. A failure names the file and what to do instead. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { staleFiles } from '../../../tools/generate.mjs';

const root = dirname(fileURLToPath(import.meta.url));

/** Folder -> the folders it may import from, itself aside. The front door (index.ts) may import everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  algorithms: ['model'],
  limiter: ['model'],
  memory: ['model', 'algorithms'],
  redis: ['model'],
  layers: ['model'],
  http: ['model', 'limiter'],
  // A policy alone is a limit in memory there, as `createLimiter` of the front door ('.') makes it.
  frameworks: ['model', 'limiter', 'http', '.'],
  'redis/clients': ['model', 'redis', 'layers', 'memory'],
  testing: ['model', 'limiter'],
};

interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  readonly except?: readonly string[];
}

const BANS: readonly Ban[] = [
  {
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/,
    instead: 'take the time as an argument',
    except: ['model/clock.ts'],
  },
  { pattern: /\bconsole\./, instead: 'return a result, throw a SluiceError or call a hook' },
  { pattern: /\bexport default\b/, instead: 'export by name' },
  { pattern: /from 'node:/, instead: 'use what every runtime has: the library also runs on Bun, Deno and workers' },
  {
    pattern: /\bset(?:Timeout|Interval)\(/,
    instead: 'let the attempts that come along do it: the core has no timers',
    // A deadline has to come also when nothing else does: that is what it is for. And whoever waits for a turn has to be woken.
    except: ['http/timers.ts', 'layers/deadline.ts', 'limiter/sleep.ts'],
  },
  {
    pattern: /\bfrom '(?!\.)/,
    instead: 'nothing: the library has no dependencies',
    // What Nest injects and catches, it knows by its own classes: whoever imports sluice/nest has them.
    except: ['frameworks/nest.ts'],
  },
  { pattern: /\bMath\.random\(/, instead: 'use crypto.getRandomValues' },
];

const sources = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.generated.ts'));

const folderOf = (file: string): string => {
  const folder = dirname(file);
  return (
    Object.keys(MAY_IMPORT)
      .filter((name) => folder === name || folder.startsWith(`${name}/`))
      .sort((one, other) => other.length - one.length)[0] ?? '.'
  );
};

const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, path]) =>
    relative(root, resolve(root, dirname(file), path!)),
  );

/** Frameworks are optional peers: an adapter may name their types, which are gone once it is built. */
const withoutPeerTypes = (file: string, text: string): string =>
  file.startsWith('frameworks/') ? text.replace(/^import type [^;]+ from '[^.'][^']*';$/gm, '') : text;

describe('every source file', () => {
  test.each(sources.filter((file) => file !== 'index.ts'))('%s imports only what its folder may', (file) => {
    const folder = folderOf(file);
    expect(Object.keys(MAY_IMPORT), `${file} lies in a folder the table does not know`).toContain(folder);
    const allowed = [folder, ...MAY_IMPORT[folder]!];
    const wrong = importsOf(file).filter((path) => !allowed.includes(folderOf(path)));
    expect(wrong, `${folder} may import from ${allowed.join(', ')}`).toEqual([]);
  });

  test.each(sources)('%s keeps the bans', (file) => {
    const text = withoutPeerTypes(file, readFileSync(join(root, file), 'utf8'));
    const broken = BANS.filter(({ pattern, except = [] }) => pattern.test(text) && !except.includes(file));
    expect(broken.map(({ instead }) => instead)).toEqual([]);
  });

  test.each(sources)('%s says in its first lines what it is for', (file) => {
    expect(readFileSync(join(root, file), 'utf8').trimStart()).toMatch(/^\/\*\*/);
  });
});

test('every algorithm folder has its twins and its cases', () => {
  const folders = readdirSync(join(root, 'algorithms'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of folders.filter((folder) => folder.name !== 'shared')) {
    const files = readdirSync(join(root, 'algorithms', name));
    expect(files).toContain(`${name}.ts`);
    expect(files).toContain(`${name}.cases.json`);
    expect(files.filter((file) => file.endsWith('.lua'))).not.toEqual([]);
  }
});

test('generated files are current', () => {
  expect(
    staleFiles().map(([file]) => file),
    'run `npm run generate`',
  ).toEqual([]);
});
