/** House rules of the server: it is a user of the library like any other, and each folder knows only what lies below it. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { algorithms } from 'sluice';
import { describe, expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../', import.meta.url));
const root = join(folder, 'src');
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const library = JSON.parse(readFileSync(join(folder, '../sluice/package.json'), 'utf8'));
const subpaths = Object.keys(library.exports).map((name) => name.replace('.', 'sluice'));

/** Folder -> the folders it may import from, itself aside. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  files: [],
  grpc: ['files'],
  envoy: ['files'],
  'envoy/grpc': ['files', 'grpc', 'envoy'],
  rlqs: ['grpc'],
  telemetry: [],
  config: ['files', 'envoy', 'rlqs'],
  service: ['files', 'grpc', 'config', 'envoy', 'rlqs', 'telemetry'],
  lab: ['files', 'config', 'service'],
  workers: ['files', 'config', 'service'],
  logs: [],
  backtest: ['logs'],
  'log-files': ['files', 'config', 'logs', 'backtest'],
  cli: ['files', 'grpc', 'config', 'envoy', 'service', 'lab', 'workers', 'telemetry', 'logs', 'backtest', 'log-files'],
};

const BANS: readonly { readonly pattern: RegExp; readonly instead: string; readonly except?: readonly string[] }[] = [
  { pattern: /\bconsole\./, instead: 'use the terminal or the log' },
  { pattern: /\bexport default\b/, instead: 'export by name' },
  { pattern: /\bprocess\.(?!on\b|off\b)\w/, instead: 'take it as an argument', except: ['cli/terminal.ts'] },
  { pattern: /\bMath\.random\(/, instead: 'use node:crypto' },
];

/** Folders that browsers run too: the lab's page reads logs with them. */
const FOR_BROWSERS = ['logs', 'backtest'];

/** Who may name an algorithm: the default of Envoy's files, the demo routes with the tutorials' names, and what a second is worth to each. */
const NAMES_ALGORITHMS = ['envoy/limit.ts', 'lab/demo-config.ts', 'backtest/whole-seconds.ts'];
const ALGORITHM_NAMES = new RegExp(`'(?:${algorithms.map(({ name }) => name).join('|')})'`);

const sources = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.ts'));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const importsOf = (file: string): string[] => [...textOf(file).matchAll(/ from '([^']+)'/g)].map(([, path]) => path!);

describe.each(sources)('%s', (file) => {
  test('imports only what it may', () => {
    for (const path of importsOf(file)) {
      if (path.startsWith('node:')) {
        expect(FOR_BROWSERS, `${path} is not there in a browser`).not.toContain(dirname(file));
        continue;
      }
      if (!path.startsWith('.')) {
        const isPublic = path.startsWith('sluice') ? subpaths.includes(path) : path in manifest.dependencies;
        expect(isPublic, `${path} is neither a public subpath of sluice nor a dependency`).toBe(true);
      } else if (file !== 'index.ts') {
        const target = relative(root, resolve(root, dirname(file), path)).split('/')[0]!;
        expect([dirname(file), ...MAY_IMPORT[dirname(file)]!]).toContain(target);
      }
    }
  });

  test('keeps the house rules', () => {
    expect(textOf(file), 'begins with what it is for').toMatch(/^\/\*\*/);
    for (const { pattern, instead, except = [] } of BANS) {
      if (!except.includes(file)) expect(textOf(file), instead).not.toMatch(pattern);
    }
  });
});

test.each(sources.filter((file) => !NAMES_ALGORITHMS.includes(file)))('%s knows no algorithm by its name', (file) => {
  expect(textOf(file).match(ALGORITHM_NAMES)?.[0], 'ask the declarations in files/algorithms.ts').toBeUndefined();
});

test('the package holds its command, its code and its examples, at exact versions', () => {
  expect(Object.values(manifest.dependencies).every((version) => /^\d+\.\d+\.\d+$/.test(String(version)))).toBe(true);
  // The sources too, so that "go to definition" ends in them.
  expect(manifest.files).toEqual(['bin', 'dist', 'examples', 'proto', 'src', '!src/**/*.test.ts']);
});
