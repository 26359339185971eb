/**
 * Programs for tests: those in PATH, or Debian's packages, unpacked into the workspace's cache. They are never installed, because Debian starts
 * a server as it installs it, on ports that are not ours.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackPackages } from './apt.ts';
import { CACHE_FOLDER, foldersOf, hasApt, isExecutable, libraryEnvironment } from './executables.ts';
import { withLock } from './lock.ts';
import { type Environment, runProgram } from './run-program.ts';

/** What to look for. */
export interface WantedProgram {
  /** Of the file. */
  readonly name: string;
  /** Debian's name for the package that has it. */
  readonly packageName: string;
  /** What it takes to run and end at once, which is how a program shows that it has all its libraries. */
  readonly trial: readonly string[];
}

export interface FoundProgram {
  readonly file: string;
  /** To be added to its environment: where the shared libraries are that came with it. */
  readonly env: Environment;
}

/** Servers are often in folders that only root has in its PATH. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/sbin'];
const UNPACKED_FOLDERS = [join('usr', 'sbin'), join('usr', 'bin'), 'bin'];

export async function findProgram(wanted: WantedProgram): Promise<FoundProgram> {
  const present = await findPresent(wanted);
  if (present !== undefined) return present;
  if (!(await hasApt())) throw new Error(whatToInstall(wanted));
  await mkdir(CACHE_FOLDER, { recursive: true });
  // Several test workers may miss it at once: one fetches it, the others then find it.
  return withLock(join(CACHE_FOLDER, 'lock'), async () => (await findPresent(wanted)) ?? (await obtain(wanted)));
}

async function findPresent(wanted: WantedProgram): Promise<FoundProgram | undefined> {
  const folders = [...foldersOf(process.env.PATH ?? ''), ...MORE_FOLDERS];
  return (await findIn(wanted, folders, {})) ?? (await findUnpacked(wanted, join(CACHE_FOLDER, wanted.name)));
}

async function findUnpacked(wanted: WantedProgram, root: string): Promise<FoundProgram | undefined> {
  const folders = UNPACKED_FOLDERS.map((folder) => join(root, folder));
  return findIn(wanted, folders, await libraryEnvironment(root));
}

async function findIn(
  { name, trial }: WantedProgram,
  folders: readonly string[],
  env: Environment,
): Promise<FoundProgram | undefined> {
  for (const file of folders.map((folder) => join(folder, name))) {
    if ((await isExecutable(file)) && (await runs(file, trial, env))) return { file, env };
  }
  return undefined;
}

function runs(file: string, trial: readonly string[], env: Environment): Promise<boolean> {
  return runProgram(file, trial, env).then(
    () => true,
    () => false,
  );
}

async function obtain(wanted: WantedProgram): Promise<FoundProgram> {
  const { name, packageName } = wanted;
  console.error(`No ${name} on this machine: getting it from the distribution, once.`);
  const folder = join(CACHE_FOLDER, name);
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await unpackPackages([packageName], unfinished).catch((cause) => {
    throw new Error(`${whatToInstall(wanted)}\nGetting it by apt was tried: ${String(cause)}`, { cause });
  });
  if ((await findUnpacked(wanted, unfinished)) === undefined) throw new Error(`the package holds no ${name} that runs`);
  // Renamed only when it has run, so that what is in the cache works.
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished, folder);
  const program = await findUnpacked(wanted, folder);
  if (program === undefined) throw new Error(`${folder} vanished`);
  return program;
}

function whatToInstall({ name, packageName }: WantedProgram): string {
  return `The tests need a real ${name}: put it into PATH. Debian and Ubuntu: "apt-get install ${packageName}".`;
}
