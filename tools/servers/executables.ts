/** Where programs are: folders of PATH, and packages unpacked into the workspace's cache, with the libraries that came along. */

import { access, constants, readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './run-program.ts';

export const CACHE_FOLDER = fileURLToPath(new URL('../../.cache/servers', import.meta.url));

/** For a program that was unpacked below `root`. */
export async function libraryEnvironment(root: string): Promise<Environment> {
  const parents = [join(root, 'lib'), join(root, 'usr', 'lib')];
  const perParent = parents.map(async (parent) => {
    const names = await readdir(parent).catch(() => []);
    return names.filter((name) => name.includes('-linux-')).map((name) => join(parent, name));
  });
  const folders = (await Promise.all(perParent)).flat();
  return folders.length > 0 ? { LD_LIBRARY_PATH: folders.join(delimiter) } : {};
}

export function foldersOf(path: string): string[] {
  return path.split(delimiter).filter((folder) => folder !== '');
}

export function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** And what it takes to use it without root. */
export async function hasApt(): Promise<boolean> {
  const folders = foldersOf(process.env.PATH ?? '');
  const isInSomeFolder = async (name: string) => {
    const present = await Promise.all(folders.map((folder) => isExecutable(join(folder, name))));
    return present.some(Boolean);
  };
  const tools = await Promise.all(['apt-get', 'dpkg', 'flock'].map(isInSomeFolder));
  return tools.every(Boolean);
}
