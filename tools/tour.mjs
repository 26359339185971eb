/** What `npm run tour` runs: in a fresh clone, from nothing to the tour in the terminal. */

import { join } from 'node:path';
import { installDependencies } from './install-dependencies.mjs';
import { runQuietly, runVisibly } from './steps.mjs';

const tour = join('examples', 'tour', 'tour.mjs');
const isReady = (await installDependencies()) && (await runQuietly('Building', 'npm', ['run', 'build']));
process.exitCode = isReady ? await runVisibly(process.execPath, [tour, ...process.argv.slice(2)]) : 1;
