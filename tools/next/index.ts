/**
 * Apps of Next.js, built and started as a user would: the packed tarball of the library in a folder of its own, the production build with
 * its check of types, `next start`. Next and React are those of package.json in this folder; clients of Redis are the workspace's.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder } from '../runtimes/install-folder.ts';
import { unpackLibrary } from '../runtimes/unpack-library.ts';
import { isRunning } from '../servers/index.ts';
import { runProgram } from '../servers/run-program.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const WORKSPACE = fileURLToPath(new URL('../../', import.meta.url));
const NEXT = join(FOLDER, 'node_modules/next/dist/bin/next');
/** Nothing is sent anywhere, and nothing is fetched. */
const QUIET = { NEXT_TELEMETRY_DISABLED: '1', NEXT_IGNORE_INCORRECT_LOCKFILE: '1', CI: '1' };

/** By path in the app. */
export type AppFiles = Readonly<Record<string, string>>;

export interface NextApp {
  /** What the build printed. */
  readonly built: string;
  start(env?: Readonly<Record<string, string>>): Promise<RunningApp>;
  remove(): Promise<void>;
}

export interface RunningApp {
  readonly url: string;
  /** What it has printed so far. */
  printed(): string;
  stop(): Promise<void>;
}

/** The compiler of Next is a package of its own here, so that its images and other platforms need not be installed. */
export async function installNext(): Promise<void> {
  await installFolder(FOLDER, 'Next.js and React, 350 MB on disk,', ['--omit=optional']);
}

/** Rejects with what `next build` printed when the app does not build, or its types are wrong. */
export async function buildNextApp(files: AppFiles, env: Readonly<Record<string, string>> = {}): Promise<NextApp> {
  // Below the workspace, where the packages are found, and in a folder that git does not see.
  await mkdir(join(FOLDER, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(FOLDER, '.cache/app-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (const [path, text] of Object.entries({ ...BOILERPLATE, ...files })) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await unpackLibrary(folder);
    const built = await runProgram(process.execPath, [NEXT, 'build', folder], { ...QUIET, ...env });
    return { built, start: (env = {}) => start(folder, env), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** As Next would make it; but it looks for one in the folders above, too, and that of the workspace is for another React. */
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['dom', 'dom.iterable', 'esnext'],
    strict: true,
    noEmit: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    isolatedModules: true,
    skipLibCheck: true,
    jsx: 'react-jsx',
    jsxImportSource: 'react',
    plugins: [{ name: 'next' }],
  },
  include: ['next-env.d.ts', '**/*.ts', '**/*.tsx', '.next/types/**/*.ts'],
  exclude: ['node_modules'],
};

const BOILERPLATE: AppFiles = {
  'tsconfig.json': JSON.stringify(TSCONFIG),
  'package.json': '{ "name": "app", "private": true, "type": "module" }\n',
  'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(WORKSPACE)} } };\n`,
  'app/layout.tsx': `export default function Layout({ children }: { children: React.ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}
`,
};

async function start(folder: string, env: Readonly<Record<string, string>>): Promise<RunningApp> {
  const args = [NEXT, 'start', folder, '-p', '0', '-H', '127.0.0.1'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...QUIET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const url = await addressOf(child, () => printed);
  return { url, printed: () => printed, stop: () => stop(child) };
}

/** It prints where it listens. */
async function addressOf(child: ChildProcess, printed: () => string): Promise<string> {
  for (;;) {
    const [, port] = /Local:\s+http:\/\/[\w.]+:(\d+)/.exec(printed()) ?? [];
    if (port !== undefined && /Ready in/.test(printed())) return `http://127.0.0.1:${port}`;
    if (!isRunning(child)) throw new Error(`next start ended:\n${printed()}`);
    await Promise.race([once(child.stdout!, 'data'), once(child.stderr!, 'data'), once(child, 'exit')]);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
