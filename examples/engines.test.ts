/** A fresh project for each engine: the packed package and an example, started as a visitor would, limited, and seen to answer 429. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RUNTIMES, type Runtime } from '../tools/runtimes/index.ts';
import type { PackedApp } from '../tools/runtimes/packed-app.ts';
import { startWorker } from '../tools/runtimes/workerd.ts';
import { type RunningPostgres, type RunningServer, startPostgres, startServer } from '../tools/servers/index.ts';
import { type RunningFront, startUpstashFront } from '../tools/servers/upstash-front.ts';
import { appWithExamples, startExample } from './start.ts';

let app: PackedApp;
let folder: string;
let postgres: RunningPostgres;
let redis: RunningServer;
let upstash: RunningFront;
beforeAll(async () => {
  [app, postgres, redis, folder] = await Promise.all([
    appWithExamples(),
    startPostgres(),
    startServer({ kind: 'redis' }),
    mkdtemp(join(tmpdir(), 'sluice-engines-')),
  ]);
  upstash = await startUpstashFront(redis.url);
});
afterAll(async () => {
  await upstash?.stop();
  await Promise.all([app?.remove(), postgres?.stop(), redis?.stop(), rm(folder, { recursive: true, force: true })]);
});

const runtime = (name: string): Runtime => RUNTIMES.find((each) => each.name.startsWith(name))!;
const deno = runtime('Deno');

interface Row {
  readonly name: string;
  readonly runtime: Runtime;
  env(): Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = [
  { name: 'on-postgres', runtime: RUNTIMES[0]!, env: () => ({ DATABASE_URL: postgres.url }) },
  {
    name: 'on-upstash',
    runtime: RUNTIMES[0]!,
    env: () => ({ UPSTASH_REDIS_REST_URL: upstash.url, UPSTASH_REDIS_REST_TOKEN: upstash.token }),
  },
  { name: 'on-sqlite', runtime: runtime('Node 22'), env: () => ({ SQLITE_FILE: join(folder, 'node.db') }) },
  { name: 'on-sqlite', runtime: runtime('Bun'), env: () => ({ SQLITE_FILE: join(folder, 'bun.db') }) },
  {
    name: 'on-deno-kv',
    runtime: { ...deno, args: [...deno.args, '--unstable-kv'] },
    env: () => ({ KV_FILE: join(folder, 'kv.db') }),
  },
];

async function expectLimited(ask: () => Promise<Response>): Promise<void> {
  const responses: Response[] = [];
  for (let time = 0; time < 6; time += 1) responses.push(await ask());
  expect(responses.map(({ status }) => status)).toEqual([...Array(5).fill(200), 429]);
  const bodies = await Promise.all(responses.slice(0, 5).map((response) => response.json()));
  expect(bodies).toEqual([4, 3, 2, 1, 0].map((left) => ({ left })));
  expect(responses[5]!.headers.get('retry-after')).toMatch(/^(60|[1-5]?\d)$/);
  expect(await responses[5]!.json()).toMatchObject({ status: 429, 'violated-policies': ['burst'] });
}

describe.each(ROWS)('$name on $runtime.name', ({ name, runtime: on, env }) => {
  test('answers five, and then 429; another process shares the limit', async () => {
    const example = await startExample(app, on, name, env());
    await expectLimited(() => fetch(example.url));
    await example.stop();
    const again = await startExample(app, on, name, env());
    // An engine that was late for an answer of the first process has counted one less.
    const statuses = [
      (await fetch(again.url)).status,
      (await fetch(again.url)).status,
      (await fetch(again.url)).status,
    ];
    expect(statuses.at(-1)).toBe(429);
    await again.stop();
  });
});

test('on-durable-objects in workerd answers five, and then 429', async () => {
  const entry = join(app.folder, 'examples', 'on-durable-objects', 'worker.ts');
  const worker = await startWorker({ entry, objects: { LIMITS: 'RateLimitObject' } });
  await expectLimited(() => fetch(worker.url, { headers: { 'cf-connecting-ip': '203.0.113.7' } }));
  await worker.stop();
});
