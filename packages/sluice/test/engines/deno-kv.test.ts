/** `sluice/deno-kv` in Deno: the contract, eight processes on one database, and scenes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installRuntimes, RUNTIMES } from '../../../../tools/runtimes/index.ts';
import { runProgram } from '../../../../tools/servers/run-program.ts';
import { storeContract } from '../../src/testing/index.ts';
import { allowedTogether, exactly } from './support/processes.ts';

const CASES = storeContract(() => {
  throw new Error('only counted');
}).length;
const { program, args: plain } = RUNTIMES.find(({ name }) => name === 'Deno')!;
const args = [...plain, '--unstable-kv'];
const here = (file: string): string => fileURLToPath(new URL(`support/${file}`, import.meta.url));

let folder: string;
beforeAll(async () => {
  await installRuntimes();
  folder = await mkdtemp(join(tmpdir(), 'sluice-deno-kv-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('keeps the whole contract', async () => {
  const env = { KV_FILE: join(folder, 'contract.db') };
  expect(JSON.parse(await runProgram(program, [...args, here('contract.mjs'), 'deno-kv'], env))).toEqual({
    cases: CASES,
  });
});

test('every scene', async () => {
  const output = await runProgram(program, [...args, here('deno-kv-scenes.mjs')]);
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toHaveLength(5);
});

test('eight processes on one database are allowed exactly the limit', async () => {
  const spenders = Array.from({ length: 8 }, () => ({ engine: 'deno-kv', program, args }));
  expect(await allowedTogether(spenders, { KV_FILE: join(folder, 'shared.db') })).toEqual(exactly(8));
});
