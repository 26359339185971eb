/** Runs an example that ends by itself, as a visitor would: `node examples/run.mjs store`. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export function runExample(name: string, env: Readonly<Record<string, string>> = {}) {
  return run(process.execPath, [fileURLToPath(new URL('run.mjs', import.meta.url)), name], {
    env: { ...process.env, ...env },
  });
}
