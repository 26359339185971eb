/** Runs a program to its end. What it printed is the answer, or part of the error when it failed. */

import { execFile } from 'node:child_process';

export type Environment = Readonly<Record<string, string>>;

/** In the folder of this process, unless another is named. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: Environment = {},
  cwd?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env: { ...process.env, ...env },
      maxBuffer: 64 * 1024 * 1024,
      ...(cwd === undefined ? {} : { cwd }),
    };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')} failed (${error.code}):\n${stdout}${stderr}`.trimEnd()));
    });
  });
}
