/**
 * The table of engines in docs/engines/README.md: its cells are what these tests measure. `npm run engines` writes them; otherwise they are compared.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { withLock } from '../../../../../tools/servers/lock.ts';
import { runProgram } from '../../../../../tools/servers/run-program.ts';

const PAGE = fileURLToPath(new URL('../../../../../docs/engines/README.md', import.meta.url));
const CALLS = fileURLToPath(new URL('calls.mjs', import.meta.url));

/** What was measured of an engine. */
export interface Measured {
  /** By eight processes with 100 attempts each and a limit of 50. */
  readonly allowed: unknown;
  readonly calls: { readonly allow: number; readonly deny: number };
  readonly on: string;
}

/** One at a time, by the runtime that has the engine. */
export async function callsBy(
  engine: string,
  env: Readonly<Record<string, string>>,
  { program = process.execPath, args = [] }: { readonly program?: string; readonly args?: readonly string[] } = {},
): Promise<Measured['calls']> {
  return JSON.parse(await runProgram(program, [...args, CALLS, engine], env));
}

export async function expectInTable(engine: string, { allowed, calls, on }: Measured): Promise<void> {
  const cells = [engine, allowed, calls.allow, calls.deny, on].map(String);
  if (process.env.WRITE_ENGINES === '1') await withLock(PAGE, async () => write(cells));
  expect(rows().find(([name]) => name === engine)).toEqual(cells);
}

export const major = (version: string): string => version.split('.')[0]!;

const isRow = (line: string): boolean => line.startsWith('| ') && line.split(' | ').length === 5;
const cellsOf = (line: string): string[] => line.slice(2, -2).split(' | ');

function rows(): string[][] {
  return readFileSync(PAGE, 'utf8').split('\n').filter(isRow).map(cellsOf);
}

async function write(cells: readonly string[]): Promise<void> {
  const lines = readFileSync(PAGE, 'utf8').split('\n');
  const at = lines.findIndex((line) => isRow(line) && cellsOf(line)[0] === cells[0]);
  const row = `| ${cells.join(' | ')} |`;
  if (at >= 0) lines[at] = row;
  else lines.splice(lines.lastIndexOf(lines.filter(isRow).at(-1)!) + 1, 0, row);
  writeFileSync(PAGE, lines.join('\n'));
}
