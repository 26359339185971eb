/** The fetch adapter and the memory store in workerd, the runtime of Cloudflare Workers: bundled, then served and asked over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installRuntimes, WORKERD } from '../../../../tools/runtimes/index.ts';

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
);
`;

const folder = mkdtempSync(join(tmpdir(), 'sluice-worker-'));
let workerd: ChildProcess | undefined;
let url: string;

beforeAll(async () => {
  await installRuntimes();
  writeFileSync(join(folder, 'config.capnp'), CONFIG);
  await bundle();
  workerd = spawn(WORKERD, ['serve', join(folder, 'config.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  url = `http://127.0.0.1:${await portOf(workerd)}`;
}, 300_000);

afterAll(async () => {
  if (workerd?.kill() && workerd.exitCode === null) await once(workerd, 'exit');
  rmSync(folder, { recursive: true });
});

async function bundle(): Promise<void> {
  const entry = fileURLToPath(new URL('worker.mjs', import.meta.url));
  const lib = { entry, formats: ['es' as const], fileName: () => 'worker.js' };
  await build({ configFile: false, logLevel: 'silent', build: { outDir: folder, lib } });
}

/** It says on the control channel which port it was given. */
async function portOf(child: ChildProcess): Promise<number> {
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`workerd ended with ${code} before it listened`);
  });
  const listening = once(child.stdio[3] as Readable, 'data').then(([line]) => JSON.parse(String(line)).port as number);
  return Promise.race([listening, failed]);
}

const ask = async (path: string, client = '203.0.113.7') => {
  const response = await fetch(url + path, { headers: { 'cf-connecting-ip': client } });
  return { status: response.status, ratelimit: response.headers.get('ratelimit'), body: await response.text() };
};

test('lets three through, says so in its headers, and then says when', async () => {
  for (const left of [2, 1, 0]) expect(await ask('/')).toMatchObject({ status: 200, body: `{"left":${left}}` });
  const { status, ratelimit, body } = await ask('/');
  expect([status, ratelimit]).toEqual([429, expect.stringMatching(/^"burst";r=0;t=(3600|359\d)$/)]);
  expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['burst'] });
  expect((await ask('/', '198.51.100.1')).status).toBe(200);
});

test('what did not fail is given back after the response', async () => {
  for (let time = 0; time < 5; time++) expect((await ask('/login')).status).toBe(200);
  expect([(await ask('/login?wrong')).status, (await ask('/login?wrong')).status]).toEqual([401, 401]);
  expect((await ask('/login')).status).toBe(429);
});

test('every algorithm', async () => {
  const rows = JSON.parse((await ask('/every')).body) as [string, boolean, number][];
  expect(rows.map(([, allowed, remaining]) => [allowed, remaining])).toEqual(Array(6).fill([true, 6]));
});
