/**
 * "An algorithm is a folder": a copy of the project gets a seventh one, as one folder and nothing else. After `npm run generate` it works everywhere:
 * library, laws, contract and parity on memory, Lua and Redis, YAML, schema, service, `sluice inspect`, and a row in the lab.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../servers/index.ts';
import { type CopiedTree, copyTree } from './copy-tree.ts';

const FOLDER = new URL('drip/', import.meta.url);

let tree: CopiedTree;
let redis: RunningServer;
let config: string;
const builds = (name: string): string =>
  tree.node('node_modules/typescript/bin/tsc', '-p', `packages/${name}/tsconfig.build.json`);
const sluice = (...args: string[]): string => tree.node('packages/server/bin/sluice.mjs', ...args);

beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
  tree = copyTree();
  const added = join(tree.folder, 'packages/sluice/src/algorithms/drip');
  mkdirSync(added);
  // The files here end with .txt, because their imports are true only there.
  for (const file of readdirSync(FOLDER)) cpSync(new URL(file, FOLDER), join(added, file.replace(/\.txt$/, '')));
  tree.node('tools/generate.mjs');
  builds('sluice');
  builds('server');
  config = join(tree.folder, 'policies.yaml');
  writeFileSync(
    config,
    'policies:\n  slow: { algorithm: drip, capacity: 5, every: 1h }\nrules:\n  - { key: ip, policy: slow }\n',
  );
});
afterAll(async () => {
  tree?.remove();
  await redis?.stop();
});

test('the library has it: its function, its types, plain data', () => {
  const program = `
    import { checkPolicy, createLimiter, drip } from 'sluice';
    const limiter = createLimiter({ policy: drip({ capacity: 5, every: '1h' }) });
    const { allowed, remaining, resetAfter } = await limiter.attempt('ada', { cost: 2 });
    const plain = checkPolicy({ algorithm: 'drip', capacity: 5, every: '1h' });
    console.log(JSON.stringify({ allowed, remaining, resetAfter, plain }));`;
  expect(JSON.parse(tree.node('--input-type=module', '--eval', program))).toEqual({
    ...{ allowed: true, remaining: 3, resetAfter: 7200 },
    plain: { algorithm: 'drip', capacity: 5, every: 3_600_000 },
  });
});

test.each<[title: string, files: string[], names: string | undefined, atLeast: number]>([
  ['its own suite and the house rules', ['sluice/src/algorithms/drip', 'sluice/src/architecture'], undefined, 10],
  ['laws', ['sluice/test/laws'], 'drip', 1],
  ['the contract on a store of swaps', ['sluice/test/store/store-over'], 'drip', 10],
  ['the contract on Redis', ['redis/contract'], '^redis .?ioredis client on redis.? (drip|case table, drip)', 10],
  ['parity of attempts on Redis', ['redis/parity-single'], '^redis ioredis client on redis', 1],
  ['parity of changes on Redis', ['redis/changes-agree'], '^redis drip', 2],
  ['contract and parity on Lua 5.1 and 5.4', ['redis/lua-versions'], 'drip|twins agree on attempts', 20],
])('%s', (_, files, names, atLeast) => {
  const report = join(tree.folder, 'report.json');
  const filter = names === undefined ? [] : ['-t', names];
  tree.node('node_modules/vitest/vitest.mjs', 'run', ...files, ...filter, '--reporter=json', `--outputFile=${report}`);
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
  expect(numFailedTests).toBe(0);
  expect(numPassedTests).toBeGreaterThanOrEqual(atLeast);
});

test('YAML, schema and explain', () => {
  expect(sluice('check', config)).toContain('1 policies, 1 rules');
  const schema = JSON.stringify(JSON.parse(sluice('schema')));
  expect(schema).toContain('"drip"');
  expect(schema).toContain('How long it takes until one unit comes back.');
  expect(sluice('explain', config, '--request', 'GET /')).toContain('slow');
});

test('the service answers, and inspect reads its state', async () => {
  const child = spawn(
    process.execPath,
    ['packages/server/bin/sluice.mjs', 'serve', '--config', config, '--redis', redis.url, '--port', '0'],
    {
      cwd: tree.folder,
    },
  );
  try {
    let said = '';
    const url = await new Promise<string>((resolve, reject) => {
      const listen = (chunk: Buffer): void => {
        said += chunk;
        const found = /listens on (http:\/\/[\d.:]+)/.exec(said);
        if (found !== null) resolve(found[1]!);
      };
      child.stdout.on('data', listen);
      child.stderr.on('data', listen);
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)));
    });
    const asked = await fetch(`${url}/v1/attempt`, {
      method: 'POST',
      body: JSON.stringify({ policy: 'slow', key: 'ada', cost: 2 }),
    });
    expect(await asked.json()).toMatchObject({ allowed: true, policy: 'slow', remaining: 3 });
  } finally {
    child.kill();
    await once(child, 'exit');
  }
  const { states } = JSON.parse(sluice('inspect', 'ada', '--redis', redis.url, '--json'));
  expect(states).toMatchObject([{ kind: 'drip', policy: 'slow', state: { allBackAt: expect.any(Number) } }]);
  expect(sluice('inspect', 'ada', '--redis', redis.url)).toContain('all back at in 2 h');
});

test('the lab has a row for it, with a form made of its fields', async () => {
  const module = pathToFileURL(join(tree.folder, 'packages/lab/src/model/kinds/index.ts')).href;
  const { KINDS } = await import(/* @vite-ignore */ module);
  const kinds = KINDS as readonly { readonly algorithm: string; readonly id: string }[];
  expect(kinds.map(({ algorithm }) => algorithm)).toContain('drip');
  expect(JSON.stringify(kinds.find(({ algorithm }) => algorithm === 'drip'))).toContain('every');
});
