/**
 * What `npm pack` and `npm publish` run first in a package: builds it if that was not done since the sources changed, and writes its llms.txt. Silent,
 * because the output of `npm pack` is read by programs.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { llmsIndex } from './docs/llms.mjs';
import { workspaceFolder } from './steps.mjs';

const newestIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .reduce((newest, entry) => Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs), 0);

/** When the package was built last; never, when it was not. */
function builtAt(folder) {
  return statSync(join(folder, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

for (const name of ['sluice', 'server']) {
  const folder = join(workspaceFolder, 'packages', name);
  if (newestIn(join(folder, 'src')) <= builtAt(folder)) continue;
  execFileSync('npm', ['run', 'build'], { cwd: workspaceFolder, stdio: ['ignore', 'ignore', 'inherit'] });
  break;
}
writeFileSync(join(workspaceFolder, 'packages/sluice/llms.txt'), llmsIndex(workspaceFolder));
