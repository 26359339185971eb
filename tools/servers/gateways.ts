/**
 * Real nginx, Caddy and HAProxy for tests: those in PATH, or Debian's packages, unpacked into the workspace's cache. They are never
 * installed, because Debian starts a server as it installs it, on ports that are not ours.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackPackages } from './apt.ts';
import { CACHE_FOLDER, foldersOf, hasApt, isExecutable, libraryEnvironment } from './executables.ts';
import { withLock } from './lock.ts';
import { type Environment, runProgram } from './run-program.ts';

export type GatewayKind = 'nginx' | 'caddy' | 'haproxy';

export interface GatewayProgram {
  readonly kind: GatewayKind;
  readonly file: string;
  /** To be added to its environment: where the shared libraries are that came with it. */
  readonly env: Environment;
}

interface Package {
  readonly name: string;
  /** What it takes to run and end at once, which is how a program shows that it has all its libraries. */
  readonly trial: readonly string[];
}

const PACKAGES: Readonly<Record<GatewayKind, Package>> = {
  nginx: { name: 'nginx-light', trial: ['-V'] },
  caddy: { name: 'caddy', trial: ['version'] },
  haproxy: { name: 'haproxy', trial: ['-v'] },
};

/** Servers are often in folders that only root has in its PATH. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/sbin'];
const UNPACKED_FOLDERS = [join('usr', 'sbin'), join('usr', 'bin')];

export async function findGateway(kind: GatewayKind): Promise<GatewayProgram> {
  const present = await findPresent(kind);
  if (present !== undefined) return present;
  if (!(await hasApt())) throw new Error(whatToInstall(kind));
  await mkdir(CACHE_FOLDER, { recursive: true });
  // Several test workers may miss it at once: one fetches it, the others then find it.
  return withLock(join(CACHE_FOLDER, 'lock'), async () => (await findPresent(kind)) ?? (await obtain(kind)));
}

async function findPresent(kind: GatewayKind): Promise<GatewayProgram | undefined> {
  const folders = [...foldersOf(process.env.PATH ?? ''), ...MORE_FOLDERS];
  return (await findIn(kind, folders, {})) ?? (await findUnpacked(kind, join(CACHE_FOLDER, kind)));
}

async function findUnpacked(kind: GatewayKind, root: string): Promise<GatewayProgram | undefined> {
  const folders = UNPACKED_FOLDERS.map((folder) => join(root, folder));
  return findIn(kind, folders, await libraryEnvironment(root));
}

async function findIn(
  kind: GatewayKind,
  folders: readonly string[],
  env: Environment,
): Promise<GatewayProgram | undefined> {
  for (const file of folders.map((folder) => join(folder, kind))) {
    if ((await isExecutable(file)) && (await runs(kind, file, env))) return { kind, file, env };
  }
  return undefined;
}

function runs(kind: GatewayKind, file: string, env: Environment): Promise<boolean> {
  return runProgram(file, PACKAGES[kind].trial, env).then(
    () => true,
    () => false,
  );
}

async function obtain(kind: GatewayKind): Promise<GatewayProgram> {
  console.error(`No ${kind} on this machine: getting it from the distribution, once.`);
  const folder = join(CACHE_FOLDER, kind);
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await unpackPackages([PACKAGES[kind].name], unfinished).catch((cause) => {
    throw new Error(`${whatToInstall(kind)}\nGetting it by apt was tried: ${String(cause)}`, { cause });
  });
  if ((await findUnpacked(kind, unfinished)) === undefined) throw new Error(`the package holds no ${kind} that runs`);
  // Renamed only when it has run, so that what is in the cache works.
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished, folder);
  const program = await findUnpacked(kind, folder);
  if (program === undefined) throw new Error(`${folder} vanished`);
  return program;
}

function whatToInstall(kind: GatewayKind): string {
  return `The tests need a real ${kind}: put it into PATH. Debian and Ubuntu: "apt-get install ${PACKAGES[kind].name}".`;
}
