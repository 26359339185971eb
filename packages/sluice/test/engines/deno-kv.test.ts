/** `sluice/deno-kv` in Deno: the contract, eight processes on one database, and scenes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { installRuntimes, RUNTIMES } from '../../../../tools/runtimes/index.ts';
import { runProgram } from '../../../../tools/servers/run-program.ts';
import { storeContract } from '../../src/testing/index.ts';
import { blockFolder, textOf } from '../support/doc-blocks.ts';
import { callsBy, expectInTable } from './support/measured.ts';
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
  const env = { KV_FILE: join(folder, 'shared.db') };
  const told = await allowedTogether(spenders, env);
  expect(told).toEqual(exactly(8));
  const calls = await callsBy('deno-kv', env, { program, args });
  await expectInTable('Deno KV', { allowed: told.allowed, calls, on: 'Deno 2, on a file' });
});

test('the server of the page', async () => {
  const page = 'docs/engines/deno-kv.md';
  const [, code = ''] = /```typescript\n(.*?)```/s.exec(textOf(page)) ?? [];
  const blocks = blockFolder('deno-kv-page');
  const file = fileURLToPath(await blocks.write({ page, index: 0, code, title: 'server' }));
  const env = { ...process.env, PORT: '0', KV_FILE: join(folder, 'page.db'), NO_COLOR: '1' };
  const child = spawn(program, [...args, file], { env });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (printed += String(piece)));
  const portOf = (): string | undefined => /:(\d+)\//.exec(printed)?.[1];
  await vi.waitUntil(() => portOf() !== undefined || child.exitCode !== null, { timeout: 60_000 });
  const statuses: (number | string)[] = [];
  for (let time = 0; time < 6; time += 1) statuses.push((await fetch(`http://127.0.0.1:${portOf()}/`)).status);
  expect(statuses, printed).toEqual([...Array(5).fill(200), 429]);
  const gone = once(child, 'exit');
  child.kill();
  await gone;
  blocks.remove();
});
