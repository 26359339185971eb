/** Two servers, three client processes, one limit: not one unit more than it, on one Redis and on a cluster. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { startCluster, startServer } from '../../../tools/servers/index.ts';
import { type ServingProcess, serve } from './processes.ts';
import { ask } from './support.ts';

const LIMIT = 700;
/** Of each client; in four of them are ten units. */
const ASKS = 200;

const folder = mkdtempSync(join(tmpdir(), 'sluice-fleet-'));
const config = join(folder, 'policies.yaml');
writeFileSync(config, `policies: { shared: { algorithm: fixed-window, limit: ${LIMIT}, window: 1d, align: first } }\n`);
afterAll(() => rmSync(folder, { recursive: true }));

const script = fileURLToPath(new URL('fleet-client.mjs', import.meta.url));

interface Seen {
  readonly units: number;
  readonly refused: number;
  readonly sources: Readonly<Record<string, number>>;
}

async function client(urls: readonly string[]): Promise<Seen> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(ASKS), ...urls]);
  return JSON.parse(stdout);
}

const PLACES = {
  'one Redis': async () => {
    const { url, stop } = await startServer({ kind: 'redis' });
    return { address: url, stop };
  },
  'one cluster': async () => {
    const { startupNodes, stop } = await startCluster({ kind: 'redis' });
    return { address: `redis+cluster://${startupNodes.map(({ host, port }) => `${host}:${port}`).join(',')}`, stop };
  },
};

test.each(Object.entries(PLACES))('on %s', async (_, start) => {
  const place = await start();
  // A long deadline: on a busy machine nothing is to be answered by anybody but Redis.
  const args = ['--config', config, '--redis', place.address, '--deadline', '30s'];
  const servers = await Promise.all([serve(args), serve(args)]);
  try {
    await expectOneLimit(servers);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await place.stop();
  }
});

async function expectOneLimit(servers: readonly ServingProcess[]): Promise<void> {
  const urls = servers.map(({ url }) => url);
  const orders = [urls, [...urls].reverse(), urls];
  const seen = await Promise.all(orders.map(client));
  const total = (pick: (one: Seen) => number): number => seen.reduce((sum, one) => sum + pick(one), 0);
  expect(servers.flatMap((server) => server.logs())).toEqual([]);
  expect(total(({ units }) => units)).toBe(LIMIT);
  expect(total(({ refused }) => refused)).toBe((orders.length * ASKS * 10) / 4 - LIMIT);
  expect(seen.flatMap(({ sources }) => Object.keys(sources))).not.toContain('fallback');
  for (const { url } of servers) {
    const { text } = await ask(`${url}/metrics`, {});
    expect(text).toContain('sluice_store_errors_total 0\n');
    expect(text).toMatch(/sluice_decisions_total\{policy="shared",outcome="allowed"\} [1-9]/);
  }
}
