/**
 * An app as a user would have it: the packed tarball of the library, installed by npm, in a folder of its own outside of this
 * repository. Frameworks and clients are linked from the workspace, so that nothing is downloaded.
 */

import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../servers/run-program.ts';

export interface PackedApp {
  readonly folder: string;
  remove(): Promise<void>;
}

const WORKSPACE = fileURLToPath(new URL('../../', import.meta.url));
/** Decorators as Nest has them, for Bun and Deno. */
const TSCONFIG = { compilerOptions: { experimentalDecorators: true } };

/** `contents`: files and folders of the workspace that are copied into the app. */
export async function packedApp(contents: readonly string[]): Promise<PackedApp> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-app-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await installTarball(folder);
  await linkOthers(folder);
  for (const name of contents) await cp(join(WORKSPACE, name), join(folder, name), { recursive: true });
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

async function installTarball(folder: string): Promise<void> {
  const packing = ['pack', '--silent', '--workspace=sluice', `--pack-destination=${folder}`];
  const tarball = (await runProgram('npm', ['--prefix', WORKSPACE, ...packing])).trim();
  const options = ['--offline', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error'];
  await runProgram('npm', ['install', '--prefix', folder, ...options, join(folder, tarball)]);
}

/** Everything of the workspace but the library itself, which must be the packed one. */
async function linkOthers(folder: string): Promise<void> {
  const from = join(WORKSPACE, 'node_modules');
  const to = join(folder, 'node_modules');
  await mkdir(to, { recursive: true });
  const packages = (await readdir(from)).filter((name) => name !== 'sluice' && !name.startsWith('.'));
  for (const name of packages) await symlink(join(from, name), join(to, name));
}
