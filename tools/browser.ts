/**
 * A real Chromium for tests, pictures and measurements of the lab: one from PATH, else from the workspace's cache folder, else from the
 * Debian packages, got once. When nothing works it throws and says what to install; what needs a browser is never skipped.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { installSystemPackage, unpackPackages } from './servers/apt.ts';
import { foldersOf, hasApt, isExecutable, libraryEnvironment } from './servers/executables.ts';
import { withLock } from './servers/lock.ts';
import { type Environment, runProgram } from './servers/run-program.ts';

export interface BrowserProgram {
  readonly program: string;
  /** To be added to its environment: where the shared libraries are that came with it. */
  readonly env: Environment;
  readonly version: string;
}

/** What a machine without a screen, without root's sandbox and without a network needs. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  const { program, env } = await findBrowser();
  return chromium.launch({
    executablePath: program,
    env: { ...definedEnvironment(), ...env },
    args: [...FLAGS, ...flags],
  });
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

const CACHE_FOLDER = fileURLToPath(new URL('../.cache/browser', import.meta.url));
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
let found: Promise<BrowserProgram> | undefined;

export function findBrowser(): Promise<BrowserProgram> {
  found ??= findPresent().then((present) => present ?? obtainOnce());
  return found;
}

async function findPresent(): Promise<BrowserProgram | undefined> {
  for (const folder of foldersOf(process.env.PATH ?? '')) {
    for (const name of NAMES) {
      const browser = await tried(join(folder, name));
      if (browser !== undefined) return browser;
    }
  }
  return findUnpacked(CACHE_FOLDER);
}

/**
 * The program itself: the package's /usr/bin/chromium is a shell script that knows only the place it is installed at. One of the libraries it
 * needs has a folder of its own.
 */
async function findUnpacked(root: string): Promise<BrowserProgram | undefined> {
  const { LD_LIBRARY_PATH: folders = '' } = await libraryEnvironment(root);
  const env = {
    LD_LIBRARY_PATH: foldersOf(folders)
      .flatMap((folder) => [folder, join(folder, 'pulseaudio')])
      .join(delimiter),
  };
  return tried(join(root, 'usr', 'lib', 'chromium', 'chromium'), env);
}

/** What is there but does not run is as good as absent. */
async function tried(program: string, env: Environment = {}): Promise<BrowserProgram | undefined> {
  if (!(await isExecutable(program))) return undefined;
  const text = await runProgram(program, ['--version', '--no-sandbox'], env).catch(() => '');
  const [, version] = /^\w[\w ]* (\d+(?:\.\d+)+)/m.exec(text) ?? [];
  return version === undefined ? undefined : { program, env, version };
}

/** Several test workers may miss it at once: one fetches it, the others then find it. */
async function obtainOnce(): Promise<BrowserProgram> {
  if (!(await hasApt())) throw new Error(WHAT_TO_INSTALL);
  await mkdir(join(CACHE_FOLDER, '..'), { recursive: true });
  return withLock(`${CACHE_FOLDER}.lock`, async () => (await findPresent()) ?? (await obtain()));
}

async function obtain(): Promise<BrowserProgram> {
  console.error('No Chromium on this machine: getting it from the distribution, once (120 MB).');
  try {
    return (await installed()) ?? (await unpacked());
  } catch (cause) {
    throw new Error(`${WHAT_TO_INSTALL}\nGetting it by apt was tried: ${String(cause)}`, { cause });
  }
}

async function installed(): Promise<BrowserProgram | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  // The unpacked packages serve as well, and if they fail too, theirs is the error worth showing.
  return installSystemPackage('chromium').then(findPresent, () => undefined);
}

async function unpacked(): Promise<BrowserProgram> {
  const unfinished = `${CACHE_FOLDER}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await unpackPackages(['chromium'], unfinished);
  if ((await findUnpacked(unfinished)) === undefined) throw new Error('the packages hold no chromium that runs');
  await rm(CACHE_FOLDER, { recursive: true, force: true });
  await rename(unfinished, CACHE_FOLDER);
  const browser = await findUnpacked(CACHE_FOLDER);
  if (browser === undefined) throw new Error(`${CACHE_FOLDER} vanished`);
  return browser;
}

const WHAT_TO_INSTALL =
  'The tests of the lab need a real Chromium in PATH. Debian: "apt-get install chromium". macOS: "brew install --cask chromium".';
