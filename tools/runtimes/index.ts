/**
 * The runtimes that the package and the examples are tried on: the Node that runs the tests, and those of package.json in this folder,
 * which are installed when a test first asks for one. They are no part of the workspace: `npm run` would then find another Node than the
 * one it was started with.
 */

import { fileURLToPath } from 'node:url';
import { installFolder } from './install-folder.ts';

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

/** Several test files may miss them: one installs them, the others then find them. */
export async function installRuntimes(): Promise<void> {
  await installFolder(FOLDER, 'Node 22, Node 24, Bun, Deno and workerd, 700 MB on disk,');
}
