/** Installs exactly what package-lock.json says, unless that was done already. Works in a fresh clone. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuietly, workspaceFolder } from './steps.mjs';

/** Resolves to whether the dependencies are there. */
export async function installDependencies() {
  if (isInstalled()) return true;
  // Development dependencies are what this is for, also where NODE_ENV says "production".
  const options = ['--include=dev', '--no-audit', '--no-fund', '--no-update-notifier'];
  return runQuietly('Installing dependencies (npm ci)', 'npm', ['ci', ...options]);
}

/** npm writes the second of these files last, when everything in the first is in place. */
function isInstalled() {
  const wanted = modificationTime('package-lock.json');
  const installed = modificationTime(join('node_modules', '.package-lock.json'));
  return installed !== undefined && (wanted === undefined || installed >= wanted);
}

function modificationTime(file) {
  return statSync(join(workspaceFolder, file), { throwIfNoEntry: false })?.mtimeMs;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = (await installDependencies()) ? 0 : 1;
}
