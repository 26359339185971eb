/** The library as it is published, packed by npm, in the `node_modules` of a project. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../servers/run-program.ts';

const WORKSPACE = fileURLToPath(new URL('../../', import.meta.url));

/** Resolves to the tarball, which stays in the folder. */
export async function unpackLibrary(folder: string): Promise<string> {
  const packing = ['pack', '--silent', '--workspace=sluice', `--pack-destination=${folder}`];
  const tarball = join(folder, (await runProgram('npm', ['--prefix', WORKSPACE, ...packing])).trim());
  const library = join(folder, 'node_modules/sluice');
  await mkdir(library, { recursive: true });
  await runProgram('tar', ['xzf', tarball, '-C', library, '--strip-components=1']);
  return tarball;
}
