/** `sluice/sqlite` over each package that has SQLite, on the runtimes that have it: the contract, eight processes on one file, and scenes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installRuntimes, RUNTIMES, type Runtime } from '../../../../tools/runtimes/index.ts';
import { runProgram } from '../../../../tools/servers/run-program.ts';
import { storeContract } from '../../src/testing/index.ts';
import { callsBy, expectInTable, type Measured } from './support/measured.ts';
import { allowedTogether, exactly } from './support/processes.ts';

const runtime = (name: string): Runtime => RUNTIMES.find((each) => each.name === name)!;
const ROWS = [
  { engine: 'node:sqlite', ...runtime('Node 22') },
  { engine: 'node:sqlite', ...runtime('Node 24') },
  { engine: 'better-sqlite3', ...runtime('Node 22') },
  { engine: 'bun:sqlite', ...runtime('Bun') },
];
const CASES = storeContract(() => {
  throw new Error('only counted');
}).length;
const here = (file: string): string => fileURLToPath(new URL(`support/${file}`, import.meta.url));

let folder: string;
let files = 0;
const newFile = (): { readonly SQLITE_FILE: string } => {
  files += 1;
  return { SQLITE_FILE: join(folder, `${files}.db`) };
};
beforeAll(async () => {
  await installRuntimes();
  folder = await mkdtemp(join(tmpdir(), 'sluice-sqlite-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(ROWS)('$engine on $name', ({ engine, program, args }) => {
  test('keeps the whole contract', async () => {
    const output = await runProgram(program, [...args, here('contract.mjs'), engine], newFile());
    expect(JSON.parse(output)).toEqual({ cases: CASES });
  });

  test('every scene', async () => {
    const output = await runProgram(program, [...args, here('sqlite-scenes.mjs'), engine]);
    expect(JSON.parse(output.trim().split('\n').at(-1)!)).toHaveLength(9);
  });
});

test('eight processes of all of them on one file are allowed exactly the limit', async () => {
  const spenders = [...ROWS, ...ROWS].map(({ engine, program, args }) => ({ engine, program, args }));
  const told = await allowedTogether(spenders, newFile());
  expect(told).toEqual(exactly(8));
  const all: Measured['calls'][] = [];
  for (const { engine, ...row } of ROWS) all.push(await callsBy(engine, newFile(), row));
  expect(all).toEqual(ROWS.map(() => all[0]));
  const on = '`node:sqlite` of Node 22 and 24, `better-sqlite3`, Bun';
  await expectInTable('SQLite', { allowed: told.allowed, calls: all[0]!, on });
});
