/**
 * CommonJS, as people meet it: `require` in a Node that loads no modules by it, Jest, a Nest project as `nest new` makes it, and TypeScript under each of its
 * settings for it. Each is a project of its own with the packed library.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommonJsProject, commonJsProject, installCommonJs } from '../../../../tools/commonjs/index.ts';

let project: CommonJsProject;
beforeAll(async () => {
  await installCommonJs();
  project = await commonJsProject();
}, 600_000);
afterAll(() => project?.remove());

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const subpaths: readonly string[] = Object.keys(manifest.exports)
  .filter((name) => name !== './package.json')
  .map((name) => `sluice${name.slice(1)}`);

const APP = `
const express = require('express');
const { tokenBucket } = require('sluice');
const { rateLimit } = require('sluice/express');

const app = express();
app.use(rateLimit({ policy: tokenBucket({ capacity: 2, refillRate: '1/h' }) }));
app.get('/', (request, response) => response.send('hello'));
const server = app.listen(0, '127.0.0.1', async () => {
  const statuses = [];
  for (let time = 0; time < 3; time++) statuses.push((await fetch('http://127.0.0.1:' + server.address().port)).status);
  console.log(statuses.join(' '));
  server.close();
});
`;

test('require, in a Node that loads no modules by it', async () => {
  await project.write({ 'app.js': APP, 'all.js': subpaths.map((name) => `require('${name}');`).join('\n') });
  expect(await project.run('node', '--no-experimental-require-module', 'app.js')).toBe('200 200 429\n');
  await project.run('node', '--no-experimental-require-module', 'all.js');
});

test('both forms in one process share policies and states', async () => {
  await project.write({
    'both.mjs': `import { createRequire } from 'node:module';
import { createLimiter, memoryStore } from 'sluice';
const { gcra, SluiceError } = createRequire(import.meta.url)('sluice');
const limiter = createLimiter({ policy: gcra({ limit: 1, period: '1h' }), store: memoryStore() });
const allowed = [(await limiter.attempt('a')).allowed, (await limiter.attempt('a')).allowed];
console.log(allowed.join(' '), SluiceError.name);
`,
  });
  expect(await project.run('node', 'both.mjs')).toBe('true false SluiceError\n');
});

test('Jest, without any setting', async () => {
  await project.write({
    'limit.test.js': `const { createLimiter, fixedWindow, manualClock, memoryStore } = require('sluice');

test('a window', async () => {
  const clock = manualClock(0);
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }), store: memoryStore({ clock }) });
  expect((await limiter.attempt('a')).allowed).toBe(true);
  expect((await limiter.attempt('a')).retryAfter).toBe(60);
  clock.advance(60_000);
  expect((await limiter.attempt('a')).allowed).toBe(true);
});

test('a warning, which is an error of another realm here, fails no attempt', async () => {
  const store = memoryStore();
  const limits = [1, 2].map((limit) => createLimiter({ policy: fixedWindow({ name: 'x', limit, window: '1m' }), store }));
  expect((await limits[0].attempt('a')).allowed).toBe(true);
  expect((await limits[1].attempt('a')).allowed).toBe(true);
});
`,
  });
  await project.run('jest', '--rootDir', '.', 'limit.test.js');
});

/** As \`nest new\` writes them. */
const NEST_TSCONFIG = {
  compilerOptions: {
    ...{ module: 'nodenext', moduleResolution: 'nodenext', target: 'ES2023', outDir: './dist', rootDir: './src' },
    ...{ resolvePackageJsonExports: true, esModuleInterop: true, isolatedModules: true, declaration: true },
    ...{ emitDecoratorMetadata: true, experimentalDecorators: true, allowSyntheticDefaultImports: true },
    ...{ strictNullChecks: true, noImplicitAny: false, skipLibCheck: true, types: ['node', 'jest'] },
  },
  include: ['src'],
};

const NEST_MODULE = `import { Controller, Get, Module } from '@nestjs/common';
import { slidingWindowCounter } from 'sluice';
import { RateLimitModule } from 'sluice/nest';

@Controller()
class CatsController {
  @Get()
  list(): string {
    return 'cats';
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ policy: slidingWindowCounter({ limit: 2, window: '1h' }) })],
  controllers: [CatsController],
})
export class AppModule {}
`;

const NEST_TEST = `import { Test } from '@nestjs/testing';
import { AppModule } from './app.module';

it('limits', async () => {
  const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = module.createNestApplication();
  await app.listen(0, '127.0.0.1');
  const statuses: number[] = [];
  for (let time = 0; time < 3; time++) statuses.push((await fetch(await app.getUrl())).status);
  await app.close();
  expect(statuses).toEqual([200, 200, 429]);
});
`;

test('Nest as `nest new` sets it up: built by tsc, tested by Jest', async () => {
  await project.write({
    'tsconfig.json': JSON.stringify(NEST_TSCONFIG),
    'src/app.module.ts': NEST_MODULE,
    'src/app.spec.ts': NEST_TEST,
    'jest.nest.json': JSON.stringify({
      ...{ rootDir: 'src', testRegex: '.*\\.spec\\.ts$', testEnvironment: 'node' },
      moduleFileExtensions: ['js', 'json', 'ts'],
      transform: { '^.+\\.ts$': 'ts-jest' },
    }),
  });
  await project.run('tsc', '-p', '.');
  await project.run('jest', '--config', 'jest.nest.json');
});

/** Each with what it takes to find types of a package at all. */
const SETTINGS: Readonly<Record<string, object>> = {
  'node16, a CommonJS file': { module: 'node16', moduleResolution: 'node16' },
  'nodenext, a CommonJS file': { module: 'nodenext', moduleResolution: 'nodenext' },
  'node10, which reads no exports': { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '5.0' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};
/** Those that need no package beside the library: the types of others take half a minute to check. */
const CHECKED = [
  'sluice',
  'sluice/http',
  'sluice/layers',
  'sluice/store',
  'sluice/algorithm',
  'sluice/fetch',
  'sluice/testing',
];

test.each(Object.entries(SETTINGS))('TypeScript, %s', async (name, options) => {
  const file = `types-${name.replaceAll(/\W+/g, '-')}`;
  const lines = CHECKED.map(
    (subpath, index) => `import * as s${index} from '${subpath}';\nexport const n${index} = Object.keys(s${index});`,
  );
  const use = `import { createLimiter, tokenBucket, type RateLimitResult } from 'sluice';
export const result: Promise<RateLimitResult> = createLimiter({ policy: tokenBucket({ capacity: 1, refillRate: 1 }) }).attempt('a');
// @ts-expect-error: capacities are numbers
tokenBucket({ capacity: 'x', refillRate: 1 });
`;
  const compilerOptions = {
    ...options,
    ...{ target: 'es2022', strict: true, noEmit: true, skipLibCheck: false },
    types: ['node'],
  };
  await project.write({
    [`${file}/index.ts`]: [...lines, use].join('\n'),
    [`${file}/tsconfig.json`]: JSON.stringify({ compilerOptions, include: ['.'] }),
  });
  await project.run('tsc', '-p', file);
});

test('what looks at packages finds nothing wrong with the types', async () => {
  const { analysis, problems } = JSON.parse(await project.run('attw', project.tarball, '--format', 'json'));
  expect(analysis.packageName).toBe('sluice');
  expect(problems ?? {}).toEqual({});
});

test('and nothing wrong with the package', async () => {
  expect(await project.run('publint', 'run', 'node_modules/sluice', '--strict', '--pack', 'false')).toMatch(/All good/);
});
