/** What tests need and the workspace does not: a folder with a lock of its own, installed when a test first asks for it. */

import { stat } from 'node:fs/promises';
import { withLock } from '../servers/lock.ts';
import { runProgram } from '../servers/run-program.ts';

/** Several test files may miss it at the same time: one installs it, the others then find it. `folder` ends with a slash. */
export async function installFolder(folder: string, what: string, more: readonly string[] = []): Promise<void> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`${what} are here for Linux on x64, and this is ${process.platform} on ${process.arch}`);
  }
  await withLock(`${folder}package.json`, async () => {
    if (!(await isInstalled(folder))) await install(folder, what, more);
  });
}

/** npm writes its own copy of the lock last, when everything in it is in place. */
async function isInstalled(folder: string): Promise<boolean> {
  const wanted = await stat(`${folder}package-lock.json`);
  const installed = await stat(`${folder}node_modules/.package-lock.json`).catch(() => undefined);
  return installed !== undefined && installed.mtimeMs >= wanted.mtimeMs;
}

async function install(folder: string, what: string, more: readonly string[]): Promise<void> {
  const start = performance.now();
  console.error(`Installing ${what} (npm ci in ${folder}) ...`);
  const options = ['--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error', ...more];
  try {
    await runProgram('npm', ['ci', '--prefix', folder, ...options]);
  } catch (error) {
    // Some versions of npm leave packages for other platforms out of a lock and reject it then. The versions in package.json are exact.
    console.error(`${(error as Error).message.split('\n', 1)[0]} Trying npm install.`);
    await runProgram('npm', ['install', '--no-package-lock', '--prefix', folder, ...options]);
  }
  console.error(`Installing ${what} ... ${((performance.now() - start) / 1e3).toFixed(1)} s`);
}
