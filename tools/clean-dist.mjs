/** Removes what an earlier build has left, before the next one: files whose source is gone would be packed. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceFolder } from './steps.mjs';

for (const name of ['sluice', 'server']) {
  rmSync(join(workspaceFolder, 'packages', name, 'dist'), { recursive: true, force: true });
}
