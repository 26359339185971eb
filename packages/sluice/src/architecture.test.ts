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
  policies: ['model', 'algorithms'],
  algorithm: ['model', 'algorithms'],
  store: ['model'],
  limiter: ['model'],
  memory: ['model', 'store'],
  redis: ['model', 'store', 'algorithms'],
  // An attempt on several keys of several stores is decided as one on several values of an engine.
  layers: ['model', 'store'],
  http: ['model', 'limiter'],
  llm: ['model', 'limiter'],
  adaptive: ['model'],
  // A list over any store: what an address is, how an engine swaps, how Redis runs a script.
  exceptions: ['model', 'http', 'store', 'redis', 'algorithms'],
  // What people install: the other rooms put together.
  presets: ['model', 'limiter', 'memory', 'layers', 'store', 'redis'],
  // A folder each: what a store needs of an engine, and the layers of presets around it.
  engines: ['model', 'store', 'redis', 'policies', 'presets'],
  frameworks: ['model', 'algorithms', 'limiter', 'memory', 'http', 'presets'],
  unified: ['model', 'policies', 'presets', 'limiter'],
  testing: ['model', 'limiter', 'policies', 'algorithms'],
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
  {
    pattern: /\bconsole\./,
    instead: 'return a result, throw a SluiceError or call a hook',
    // Where there is no process, the console is the place for warnings.
    except: ['model/runtime.ts'],
  },
  { pattern: /\bexport default\b/, instead: 'export by name' },
  { pattern: /from 'node:/, instead: 'use what every runtime has: the library also runs on Bun, Deno and workers' },
  {
    pattern: /\bset(?:Timeout|Interval)\(/,
    instead: 'let the attempts that come along do it: the core has no timers',
    // A deadline has to come also when nothing else does: that is what it is for. And whoever waits for a turn has to be woken.
    except: ['http/timers.ts', 'model/clock.ts', 'limiter/sleep.ts'],
  },
  {
    pattern: /\bfrom '(?!\.)/,
    instead: 'nothing: the library has no dependencies',
    // What Nest injects and catches, and what tRPC is thrown, they know by their own classes: whoever imports these has them.
    except: ['frameworks/nest.ts', 'frameworks/trpc.ts'],
  },
  { pattern: /\bMath\.random\(/, instead: 'use crypto.getRandomValues' },
];

/** Where it matters whether an answer has come already; everywhere else `asking` and `proceed` see to it. */
const PROMISE_FILES: readonly string[] = ['model/maybe-promise.ts'];

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

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
    const text = withoutComments(withoutPeerTypes(file, readFileSync(join(root, file), 'utf8')));
    const broken = BANS.filter(({ pattern, except = [] }) => pattern.test(text) && !except.includes(file));
    expect(broken.map(({ instead }) => instead)).toEqual([]);
  });

  test.each(sources)('%s says in its first lines what it is for', (file) => {
    expect(readFileSync(join(root, file), 'utf8').trimStart()).toMatch(/^\/\*\*/);
  });
});

test('every algorithm folder has what belongs to an algorithm', () => {
  const folders = readdirSync(join(root, 'algorithms'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of folders.filter((folder) => folder.name !== 'shared')) {
    const files = readdirSync(join(root, 'algorithms', name));
    for (const part of ['ts', 'cases.json', 'samples.ts', 'states.ts']) expect(files).toContain(`${name}.${part}`);
  }
});

test('only an algorithm knows algorithms by name', () => {
  const names = readdirSync(join(root, 'algorithms')).filter((name) => name !== 'shared');
  const quoted = new RegExp(`['"](?:${names.join('|')})['"]`);
  // The unified door has names of tutorials for them.
  const others = sources.filter((file) => !/^(algorithms|unified)\//.test(file));
  const knowing = others.filter((file) => quoted.test(withoutComments(readFileSync(join(root, file), 'utf8'))));
  expect(knowing, 'ask the rule of the policy').toEqual([]);
});

test('values and promises go one way', () => {
  const asking = sources.filter((file) => readFileSync(join(root, file), 'utf8').includes('isPromise('));
  expect(asking.filter((file) => !PROMISE_FILES.includes(file))).toEqual([]);
});

test('generated files are current', () => {
  expect(
    staleFiles().map(([file]) => file),
    'run `npm run generate`',
  ).toEqual([]);
});
