/** What is published with a package and lives elsewhere in this repository: a package goes without its neighbours. */

import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceFolder } from './steps.mjs';

const COPIES = [
  { from: 'packages/lab/dist', to: 'packages/server/dist/page' },
  // Errors name their page by its path in here.
  { from: 'docs/errors', to: 'packages/sluice/docs/errors' },
];

for (const { from, to } of COPIES) {
  rmSync(join(workspaceFolder, to), { recursive: true, force: true });
  cpSync(join(workspaceFolder, from), join(workspaceFolder, to), { recursive: true });
}

// Beside modules: without it Node would read these files as such.
writeFileSync(join(workspaceFolder, 'packages/sluice/dist/cjs/package.json'), '{ "type": "commonjs" }\n');
