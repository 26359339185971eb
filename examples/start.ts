/**
 * Starts an example as a visitor would, on a port of its own, for the tests: by any runtime, in an app that has the library as it is
 * published.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { installRuntimes, type Runtime } from '../tools/runtimes/index.ts';
import { type PackedApp, packedApp } from '../tools/runtimes/packed-app.ts';

export interface RunningExample {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** An app with the examples in it. */
export async function appWithExamples(): Promise<PackedApp> {
  await installRuntimes();
  return packedApp(['examples']);
}

export async function startExample(
  { folder }: PackedApp,
  runtime: Runtime,
  name: string,
  more: Readonly<Record<string, string>> = {},
): Promise<RunningExample> {
  const { program, args } = runtime;
  const env = { ...process.env, PORT: '0', ...more };
  const child = spawn(program, [...args, ...fileOf(runtime, name)], { cwd: folder, env });
  const port = await portOf(child, name);
  return { port, url: `http://localhost:${port}`, stop: () => stop(child) };
}

/** Who does not read TypeScript is helped by `run.mjs`. */
function fileOf({ typescript }: Runtime, name: string): string[] {
  const reads = typescript === 'yes' || (typescript === 'without decorators' && name !== 'nest');
  return reads ? [`examples/${name}/server.ts`] : ['examples/run.mjs', name];
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
