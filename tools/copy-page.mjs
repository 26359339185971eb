/** The built page of the lab goes into the server's package, which is published without its neighbours. */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceFolder } from './steps.mjs';

const [from, to] = [join('packages', 'lab', 'dist'), join('packages', 'server', 'dist', 'page')];
rmSync(join(workspaceFolder, to), { recursive: true, force: true });
cpSync(join(workspaceFolder, from), join(workspaceFolder, to), { recursive: true });
