/**
 * The pages in docs/errors/ cannot go stale: each code has a page and each page a code, the first example of a page is run
 * and must fail with exactly the message the page quotes, and every other example is run and must not fail.
 */
import cluster from 'node:cluster';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as fastify from 'fastify';
import * as ioredis from 'ioredis';
import * as redis from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import * as sluiceExpress from '../src/frameworks/express.ts';
import * as sluiceFastify from '../src/frameworks/fastify.ts';
import * as sluiceFetch from '../src/frameworks/fetch.ts';
import * as sluiceHttp from '../src/http/index.ts';
import * as sluice from '../src/index.ts';
import * as sluiceLayers from '../src/layers/index.ts';
import * as sluiceIoredis from '../src/presets/ioredis.ts';
import * as sluiceNodeRedis from '../src/presets/node-redis.ts';
import * as sluiceValkeyGlide from '../src/presets/valkey-glide.ts';
import * as sluiceRedis from '../src/redis/index.ts';

const PAGES = new URL('../../../docs/errors/', import.meta.url);
const ERRORS = new URL('../src/model/errors.ts', import.meta.url);

/** What an example may import, by the name a reader would type. */
const MODULES: Readonly<Record<string, object>> = {
  fastify,
  ioredis,
  redis,
  sluice,
  'sluice/express': sluiceExpress,
  'sluice/fastify': sluiceFastify,
  'sluice/fetch': sluiceFetch,
  'sluice/http': sluiceHttp,
  'sluice/ioredis': sluiceIoredis,
  'sluice/layers': sluiceLayers,
  'sluice/node-redis': sluiceNodeRedis,
  'sluice/redis': sluiceRedis,
  'sluice/valkey-glide': sluiceValkeyGlide,
};

/** One of the examples says it is a worker. */
const { isWorker } = cluster;
afterEach(() => Object.assign(cluster, { isWorker }));

const codes = [...readFileSync(ERRORS, 'utf8').matchAll(/'(SLUICE_[A-Z_]+)'/g)].map(([, code]) => code!);
const pages = readdirSync(PAGES).filter((file) => file !== 'README.md');
const index = readFileSync(new URL('README.md', PAGES), 'utf8');

test('every code has a page and every page a code', () => {
  expect(pages.sort()).toEqual(codes.map((code) => `${code}.md`).sort());
});

test('the index lists every code once, in the order of the source, with a link and a line', () => {
  const rows = [...index.matchAll(/^\| \[(\w+)\]\((.+?)\) \| (.+) \|$/gm)].map(([, code, link]) => [code, link]);
  expect(rows).toEqual(codes.map((code) => [code, `${code}.md`]));
});

/** There, `error.path; // 'text'` claims what the field holds. */
test('the example of the index works, and what it says about an error is true', async () => {
  const claim = /^( *)(error\.\w+); \/\/ ('.*?').*$/gm;
  const [example = ''] = blocksOf(index, 'ts');
  expect.assertions(example.match(claim)?.length ?? Number.NaN);
  await run(example.replace(claim, '$1expect($2).toBe($3);'));
});

describe.each(pages)('%s', (file) => {
  const code = file.replace('.md', '');
  const page = readFileSync(new URL(file, PAGES), 'utf8');
  const [mistake = '', ...cures] = blocksOf(page, 'ts');

  test('is laid out like the others', () => {
    const headings = [...page.matchAll(/^#+ .+$/gm)].map(([heading]) => heading);
    expect(headings.slice(0, 5)).toEqual([`# ${code}`, '## Example', '## Message', '## Usual causes', '## Cure']);
    expect(headings.slice(5)).toEqual(headings.length > 5 ? ['## Why Sluice does not guess'] : []);
    expect(cures).not.toEqual([]);
  });

  test('its example fails with the message it quotes', async () => {
    const error = await run(mistake).then(
      () => expect.unreachable('the example did not fail'),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(sluice.SluiceError);
    expect(error).toMatchObject({ code, page: `node_modules/sluice/docs/errors/${code}.md` });
    if (process.env.SLUICE_UPDATE_PAGES !== undefined) quote(file, page, (error as sluice.SluiceError).message);
    expect([(error as sluice.SluiceError).message]).toEqual(blocksOf(page, 'text'));
  });

  test.each(cures)('its cure works: %#', async (cure) => {
    await run(cure);
  });
});

/** `SLUICE_UPDATE_PAGES=1 npx vitest run error-pages` writes the messages that examples fail with into their pages. */
function quote(file: string, page: string, message: string): void {
  writeFileSync(
    new URL(file, PAGES),
    page.replace(/^```text\n.*?\n```$/ms, () => `\`\`\`text\n${message}\n\`\`\``),
  );
}

function blocksOf(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)\\n\`\`\`$`, 'gms'))].map(([, block]) => block!);
}

type Example = (load: (module: string) => object, expect: unknown) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => Example;

/** Runs an example as a module of its own: it sees what it imports and nothing else of ours. */
async function run(example: string): Promise<void> {
  const imports = /^import (\{.+?\}) from ('.+?');$/gm;
  const body = example.replace(imports, (_, names: string, module: string) => {
    return `const ${names.replaceAll(' as ', ': ')} = load(${module});`;
  });
  await new AsyncFunction('load', 'expect', `'use strict';\n${body}`)(load, expect);
  // A warning is emitted a moment later: that of this example must not be heard by the next one.
  await new Promise(setImmediate);
}

/** A module as an example sees it: a name it does not export is an error, as it is in a real import. */
function load(module: string): object {
  const exports = MODULES[module];
  if (exports === undefined) throw new Error(`No example may import ${module} yet: add it to MODULES.`);
  return new Proxy(exports, {
    get: (_, name) => {
      if (!(name in exports)) throw new Error(`${module} does not export ${String(name)}.`);
      return exports[name as keyof typeof exports];
    },
  });
}
