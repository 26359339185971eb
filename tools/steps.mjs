/**
 * Programs run one after the other, each under a title that ends with its duration. Plain JavaScript without
 * dependencies, because the first step is what installs them.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const workspaceFolder = fileURLToPath(new URL('..', import.meta.url));

/** Silent but for its title, unless it fails: then what the program printed follows. On stderr: stdout is for results. Resolves to whether it succeeded. */
export async function runQuietly(title, program, args) {
  const start = performance.now();
  process.stderr.write(`${title} ...`);
  const { code, output } = await run(program, args, ['ignore', 'pipe', 'pipe']);
  console.error(` ${code === 0 ? '' : 'failed after '}${seconds(start)}`);
  if (code !== 0) console.error(output.trimEnd());
  return code === 0;
}

/** For a program whose output is the point. Resolves to its exit code. */
export async function runVisibly(program, args) {
  const { code } = await run(program, args, 'inherit');
  return code;
}

export function seconds(start) {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

function run(program, args, stdio) {
  // On Windows npm is a command file, which only a shell can start.
  const shell = process.platform === 'win32' && program === 'npm';
  const child = spawn(program, args, { cwd: workspaceFolder, stdio, shell });
  const chunks = [];
  child.stdout?.on('data', (chunk) => chunks.push(chunk));
  child.stderr?.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}
