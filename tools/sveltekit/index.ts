/**
 * An app of SvelteKit, built and started as a user would: the packed tarball of the library in a folder of its own, `vite build`, and the server of
 * adapter-node. SvelteKit is that of package.json in this folder.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder } from '../runtimes/install-folder.ts';
import { unpackLibrary } from '../runtimes/unpack-library.ts';
import { isRunning } from '../servers/index.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

export interface KitApp {
  start(env?: Readonly<Record<string, string>>): Promise<{ readonly url: string; stop(): Promise<void> }>;
  remove(): Promise<void>;
}

/** `source`: the folder of the app. */
export async function buildKitApp(source: string): Promise<KitApp> {
  await installFolder(FOLDER, 'SvelteKit, 53 MB on disk,');
  // Below this folder, where the packages are found, and where git does not see it.
  await mkdir(join(FOLDER, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(FOLDER, '.cache/app-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await cp(source, folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{ "name": "app", "private": true, "type": "module" }\n');
    await unpackLibrary(folder);
    await build(folder);
    return { start: (env = {}) => start(folder, env), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function build(folder: string): Promise<void> {
  const vite = join(FOLDER, 'node_modules/vite/bin/vite.js');
  const child = spawn(process.execPath, [vite, 'build'], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`vite build ended with ${code}:\n${printed}`);
}

async function start(folder: string, env: Readonly<Record<string, string>>) {
  const port = await freePort();
  const child = spawn(process.execPath, ['build/index.js'], {
    cwd: folder,
    env: { ...process.env, HOST: '127.0.0.1', PORT: `${port}`, ...env },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
  while (!/Listening on/i.test(printed)) {
    if (!isRunning(child)) throw new Error(`The server of SvelteKit ended:\n${printed}`);
    await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), once(child, 'exit')]);
  }
  const stop = async (): Promise<void> => {
    if (!isRunning(child)) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** It prints the port it was told, so it has to be told one. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
