/** The packed tarball on every runtime: what a user installs is what is run, against a real Redis. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installRuntimes, RUNTIMES } from '../../../../tools/runtimes/index.ts';
import { type PackedApp, packedApp } from '../../../../tools/runtimes/packed-app.ts';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { runProgram } from '../../../../tools/servers/run-program.ts';
import { storeContract } from '../../src/testing/index.ts';

const subpaths = Object.keys(manifest().exports)
  .filter((name) => name !== './package.json')
  .map((name) => name.slice(1));
const STORES = 3;
const CASES = storeContract(() => {
  throw new Error('only counted');
}).length;

let app: PackedApp;
let server: RunningServer;
beforeAll(async () => {
  await installRuntimes();
  [app, server] = await Promise.all([packedApp([]), startServer({ kind: 'redis' })]);
  cpSync(fileURLToPath(new URL('smoke.mjs', import.meta.url)), join(app.folder, 'smoke.mjs'));
}, 300_000);
afterAll(async () => {
  await server?.stop();
  await app?.remove();
});

test.each(RUNTIMES)('$name: every subpath loads, every store keeps its contract', async ({ program, args, name }) => {
  const runId = name.replaceAll(/\W+/g, '-');
  const output = await runProgram(program, [...args, join(app.folder, 'smoke.mjs'), server.url, runId, ...subpaths]);
  const byLayers = [...Array(3).fill('yes by store'), 'no by store', 'no by deny-cache'];
  expect(JSON.parse(output)).toEqual({
    subpaths: subpaths.length,
    cases: STORES * CASES,
    answers: {
      memory: [...Array(3).fill('yes by store'), 'no by store', 'no by store'],
      'node-redis': byLayers,
      ioredis: byLayers,
    },
  });
});

function manifest(): { readonly exports: object } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
