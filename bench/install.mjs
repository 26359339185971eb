/** The peers are the bench's own dependencies and stay out of the workspace's: they are installed when a bench is first run. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
/** Stands for all: they come together. */
const ONE_OF_THEM = 'rate-limiter-flexible';

export function installPeers() {
  if (isInstalled()) return;
  process.stderr.write("Installing the bench's peers (npm ci in bench/) ...\n");
  const options = ['--include=dev', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], {
    cwd: FOLDER,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error('npm ci in bench/ failed');
}

function isInstalled() {
  try {
    createRequire(import.meta.url).resolve(ONE_OF_THEM);
    return true;
  } catch {
    return false;
  }
}
