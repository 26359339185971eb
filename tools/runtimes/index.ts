/**
 * The runtimes that the package and the examples are tried on: the Node that runs the tests, and those of package.json in this folder,
 * which are installed when a test first asks for one. They are no part of the workspace: `npm run` would then find another Node than the
 * one it was started with.
 */

import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { withLock } from '../servers/lock.ts';
import { runProgram } from '../servers/run-program.ts';

export interface Runtime {
  readonly name: string;
  readonly program: string;
  /** What goes before the file to run. */
  readonly args: readonly string[];
  /** Whether it reads TypeScript by itself, and with decorators. */
  readonly typescript: 'no' | 'without decorators' | 'yes';
}

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MODULES = `${FOLDER}node_modules`;

export const RUNTIMES: readonly Runtime[] = [
  { name: `Node ${process.versions.node} (this one)`, program: process.execPath, args: [], typescript: 'no' },
  { name: 'Node 22', program: `${MODULES}/node-22/bin/node`, args: [], typescript: 'without decorators' },
  { name: 'Node 24', program: `${MODULES}/node-24/bin/node`, args: [], typescript: 'without decorators' },
  { name: 'Bun', program: `${MODULES}/@oven/bun-linux-x64/bin/bun`, args: [], typescript: 'yes' },
  // Its checks of types are tsc's business; the packages are where npm has put them.
  {
    name: 'Deno',
    program: `${MODULES}/@deno/linux-x64-glibc/deno`,
    args: ['run', '--allow-all', '--no-check', '--node-modules-dir=manual'],
    typescript: 'yes',
  },
];

/** Runs no files: it serves what a configuration says. */
export const WORKERD = `${MODULES}/@cloudflare/workerd-linux-64/bin/workerd`;

/** Several test files may miss them at once: one installs them, the others then find them. */
export async function installRuntimes(): Promise<void> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the other runtimes are here for Linux on x64, and this is ${process.platform} on ${process.arch}`);
  }
  await withLock(`${FOLDER}package.json`, async () => {
    if (!(await areInstalled())) await install();
  });
}

/** npm writes its own copy of the lock last, when everything in it is in place. */
async function areInstalled(): Promise<boolean> {
  const wanted = await stat(`${FOLDER}package-lock.json`);
  const installed = await stat(`${MODULES}/.package-lock.json`).catch(() => undefined);
  return installed !== undefined && installed.mtimeMs >= wanted.mtimeMs;
}

async function install(): Promise<void> {
  const start = performance.now();
  console.error('Installing Node 22, Node 24, Bun, Deno and workerd (npm ci in tools/runtimes, 700 MB on disk) ...');
  const options = ['--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  await runProgram('npm', ['ci', '--prefix', FOLDER, ...options]);
  console.error(`Installing the runtimes ... ${((performance.now() - start) / 1e3).toFixed(1)} s`);
}
