/**
 * Plain Lua as a server for scripts: the interpreter of Debian, with lua-host.lua as what a server offers to them. Redis and Valkey have Lua 5.1,
 * others have 5.4, and the same scripts must say the same on both.
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { findProgram } from './programs.ts';

export type LuaVersion = '5.1' | '5.4';

export interface RunningLua {
  /** Runs a script with keys and arguments. Rejects with the error that it raises. */
  run(
    script: { readonly source: string; readonly sha1: string },
    keys: readonly string[],
    args: readonly string[],
  ): Promise<string>;
  stop(): Promise<void>;
}

const HOST = fileURLToPath(new URL('lua-host.lua', import.meta.url));

export async function startLua(version: LuaVersion): Promise<RunningLua> {
  const name = `lua${version}`;
  const { file, env } = await findProgram({ name, packageName: name, trial: ['-v'] });
  const child = spawn(file, [HOST], { env: { ...process.env, ...env } });
  const replies = repliesOf(child);
  return {
    run(script, keys, args) {
      const words = [script.sha1, script.source, String(keys.length), ...keys, ...args].map((word) =>
        Buffer.from(word),
      );
      child.stdin.write(`${words.length}\n`);
      for (const word of words) child.stdin.write(Buffer.concat([Buffer.from(`${word.length}\n`), word]));
      return replies.next();
    },
    async stop() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** The reply of one script, as text. */
export async function runInLua(version: LuaVersion, source: string): Promise<string> {
  const lua = await startLua(version);
  try {
    return await lua.run({ source, sha1: '' }, [], []);
  } finally {
    await lua.stop();
  }
}

/** `+3\nabc` is a reply, `-3\nabc` an error, in the order of the calls. */
function repliesOf(child: ChildProcessWithoutNullStreams): { next(): Promise<string> } {
  const waiting: { resolve(reply: string): void; reject(error: Error): void }[] = [];
  let buffer = Buffer.alloc(0);
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  child.stdout.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      const end = buffer.indexOf(10);
      const length = Number(buffer.toString('latin1', 1, end));
      if (end < 0 || buffer.length < end + 1 + length) return;
      const text = buffer.toString('utf8', end + 1, end + 1 + length);
      const { resolve, reject } = waiting.shift()!;
      if (buffer[0] === 43) resolve(text);
      else reject(new Error(text));
      buffer = buffer.subarray(end + 1 + length);
    }
  });
  child.on('exit', (code) => {
    for (const { reject } of waiting) reject(new Error(`Lua ended with ${code}: ${errors}`));
  });
  return { next: () => new Promise((resolve, reject) => waiting.push({ resolve, reject })) };
}
