/**
 * Finds the programs of a real Redis or Valkey on this machine, and gets them when there are none: PATH first, then the
 * workspace's cache folder, then the Debian packages. When nothing works it throws and says what to install; tests that
 * need a server are never skipped.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installSystemPackage, stopSystemService, unpackPackages } from './apt.ts';
import { CACHE_FOLDER, foldersOf, hasApt, isExecutable, libraryEnvironment } from './executables.ts';
import { withLock } from './lock.ts';
import { type Environment, runProgram } from './run-program.ts';

export type ServerKind = 'redis' | 'valkey';

export interface ServerBinaries {
  readonly kind: ServerKind;
  readonly server: string;
  readonly cli: string;
  /** To be added to the environment of both: where the shared libraries are that came with them. */
  readonly env: Environment;
  readonly version: string;
}

/** Where to look and what is allowed. The defaults are right for everything but tests of the search itself. */
export interface SearchPlaces {
  readonly path: string;
  readonly cacheFolder: string;
  readonly mayInstall: boolean;
}

const found = new Map<ServerKind, Promise<ServerBinaries>>();

export function findServer(kind: ServerKind): Promise<ServerBinaries> {
  const known = found.get(kind) ?? searchServer(kind);
  found.set(kind, known);
  return known;
}

export async function searchServer(kind: ServerKind, places: Partial<SearchPlaces> = {}): Promise<ServerBinaries> {
  const everywhere: SearchPlaces = {
    path: process.env.PATH ?? '',
    cacheFolder: CACHE_FOLDER,
    mayInstall: process.getuid?.() === 0,
    ...places,
  };
  return (await findPresent(kind, everywhere)) ?? (await obtainOnce(kind, everywhere));
}

async function findPresent(kind: ServerKind, { path, cacheFolder }: SearchPlaces): Promise<ServerBinaries | undefined> {
  // What is there but does not run, say after an upgrade took a library away, is as good as absent.
  const fromCache = () => findUnpacked(kind, join(cacheFolder, kind)).catch(() => undefined);
  return (await findInPath(kind, path)) ?? (await fromCache());
}

async function findInPath(kind: ServerKind, path: string): Promise<ServerBinaries | undefined> {
  for (const folder of foldersOf(path)) {
    const binaries = await findInFolder(kind, folder).catch(() => undefined);
    if (binaries !== undefined) return binaries;
  }
  return undefined;
}

async function findUnpacked(kind: ServerKind, root: string): Promise<ServerBinaries | undefined> {
  return findInFolder(kind, join(root, 'usr', 'bin'), await libraryEnvironment(root));
}

/** Finds nothing under a borrowed name: some distributions let `redis-server` start Valkey. */
async function findInFolder(
  kind: ServerKind,
  folder: string,
  env: Environment = {},
): Promise<ServerBinaries | undefined> {
  const server = join(folder, `${kind}-server`);
  const cli = join(folder, `${kind}-cli`);
  if (!(await isExecutable(server)) || !(await isExecutable(cli))) return undefined;
  const text = await runProgram(server, ['--version'], env);
  const [, name, version] = /^(\w+) server v=(\S+)/i.exec(text) ?? [];
  return name?.toLowerCase() === kind && version ? { kind, server, cli, env, version } : undefined;
}

/** Several test workers may miss the same server at once: one fetches it, the others then find it. */
async function obtainOnce(kind: ServerKind, places: SearchPlaces): Promise<ServerBinaries> {
  if (!(await hasApt())) throw new Error(whatToInstall(kind));
  await mkdir(places.cacheFolder, { recursive: true });
  return withLock(join(places.cacheFolder, 'lock'), async () => {
    const present = await findPresent(kind, places);
    return present ?? (await obtain(kind, places));
  });
}

async function obtain(kind: ServerKind, places: SearchPlaces): Promise<ServerBinaries> {
  console.error(`No ${kind} server on this machine: getting it from the distribution, once.`);
  try {
    return (await install(kind, places)) ?? (await unpack(kind, places));
  } catch (cause) {
    throw new Error(`${whatToInstall(kind)}\nGetting it by apt was tried: ${String(cause)}`, { cause });
  }
}

/** Only Redis: every Debian has it, whereas Valkey may need a source that this machine was not told about. */
async function install(kind: ServerKind, places: SearchPlaces): Promise<ServerBinaries | undefined> {
  if (kind !== 'redis' || !places.mayInstall) return undefined;
  try {
    await installSystemPackage('redis-server');
    await stopSystemService('redis-server');
  } catch {
    // The unpacked packages serve as well, and if they fail too, theirs is the error worth showing.
    return undefined;
  }
  return findInPath(kind, places.path);
}

async function unpack(kind: ServerKind, { cacheFolder }: SearchPlaces): Promise<ServerBinaries> {
  const folder = join(cacheFolder, kind);
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await unpackPackages([`${kind}-server`, `${kind}-tools`], unfinished);
  if ((await findUnpacked(kind, unfinished)) === undefined) throw new Error(`the packages hold no ${kind}-server`);
  // Renamed only when it has run, so that what is in the cache works.
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished, folder);
  const binaries = await findUnpacked(kind, folder);
  if (binaries === undefined) throw new Error(`${folder} vanished`);
  return binaries;
}

const ADVICE: Record<ServerKind, string> = {
  redis: 'Debian and Ubuntu: "apt-get install redis-server". macOS: "brew install redis".',
  valkey:
    'Debian 13, Ubuntu 24.10 and newer: "apt-get install valkey-server". Debian 12: the same, from bookworm-backports. ' +
    'macOS: "brew install valkey".',
};

function whatToInstall(kind: ServerKind): string {
  return `The tests need a real ${kind}: put ${kind}-server and ${kind}-cli into PATH. ${ADVICE[kind]}`;
}
