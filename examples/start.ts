/** Starts an example as a visitor would, on a port of its own, for the tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface RunningExample {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

export async function startExample(name: string): Promise<RunningExample> {
  const script = fileURLToPath(new URL('run.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, name], { env: { ...process.env, PORT: '0' } });
  const port = await portOf(child, name);
  return { port, url: `http://localhost:${port}`, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

function portOf(child: ChildProcess, name: string): Promise<number> {
  let output = '';
  return new Promise((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      output += chunk;
      const [, port] = /listening on .*"port":(\d+)/.exec(output) ?? [];
      if (port !== undefined) resolve(Number(port));
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    child.once('exit', (code) => reject(new Error(`examples/${name} ended with ${code}: ${output}`)));
  });
}
