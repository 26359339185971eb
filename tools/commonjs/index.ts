/** Projects that are CommonJS, as `nest new` and most older ones are: the packed library, and compilers and test runners of package.json in this folder. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder } from '../runtimes/install-folder.ts';
import { unpackLibrary } from '../runtimes/unpack-library.ts';
import { runProgram } from '../servers/run-program.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

export interface CommonJsProject {
  readonly folder: string;
  /** The library as npm packs it. */
  readonly tarball: string;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Runs a program of this folder's packages, or `node`, in the project. Rejects with what it printed when it fails. */
  run(program: string, ...args: string[]): Promise<string>;
  remove(): Promise<void>;
}

export async function installCommonJs(): Promise<void> {
  await installFolder(FOLDER, 'Jest, Nest and TypeScript 5, 150 MB on disk,');
}

export async function commonJsProject(): Promise<CommonJsProject> {
  // Below the packages of this folder, where they are found, and in a folder that git does not see.
  await mkdir(join(FOLDER, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(FOLDER, '.cache/project-'));
  const tarball = await unpackLibrary(folder);
  await writeFile(join(folder, 'package.json'), '{ "name": "project", "private": true }\n');
  return {
    ...{ folder, tarball },
    async write(files) {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
    },
    run: (program, ...args) =>
      runProgram(program === 'node' ? process.execPath : join(FOLDER, 'node_modules/.bin', program), args, {}, folder),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
