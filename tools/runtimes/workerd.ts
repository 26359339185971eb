/** A worker in workerd, the runtime of Cloudflare Workers: its file is bundled as a deployment would, and served on a port of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { build } from 'vite';
import { installRuntimes, WORKERD } from './index.ts';

export interface RunningWorker {
  readonly url: string;
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** The file of the worker. What it imports is found from its folder. */
  readonly entry: string;
  /** Durable Objects: bindings and the classes they are of. */
  readonly objects?: Readonly<Record<string, string>>;
  /** Variables and secrets. */
  readonly variables?: Readonly<Record<string, string>>;
}

function configOf({ objects = {}, variables = {} }: WorkerOptions): string {
  const classes = [...new Set(Object.values(objects))];
  const namespaces = classes.map((name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`);
  const bindings = [
    ...Object.entries(objects).map(([name, of]) => `(name = "${name}", durableObjectNamespace = "${of}")`),
    ...Object.entries(variables).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    # Servers of tests are on this machine, which a worker would not reach otherwise.
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  durableObjectNamespaces = [${namespaces.join(', ')}],
  durableObjectStorage = (inMemory = void),
  bindings = [${bindings.join(', ')}],
);
`;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  await installRuntimes();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-worker-'));
  await writeFile(join(folder, 'config.capnp'), configOf(options));
  const lib = { entry: options.entry, formats: ['es' as const], fileName: () => 'worker.js' };
  await build({ configFile: false, logLevel: 'silent', build: { outDir: folder, emptyOutDir: false, lib } });
  const child = spawn(WORKERD, ['serve', join(folder, 'config.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const url = `http://127.0.0.1:${await portOf(child)}`;
  return {
    url,
    async stop() {
      if (child.exitCode === null) {
        const gone = once(child, 'exit');
        child.kill();
        await gone;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** It says on the control channel which port it was given. */
async function portOf(child: ChildProcess): Promise<number> {
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`workerd ended with ${code} before it listened`);
  });
  const listening = once(child.stdio[3] as Readable, 'data').then(([line]) => JSON.parse(String(line)).port as number);
  return Promise.race([listening, failed]);
}
