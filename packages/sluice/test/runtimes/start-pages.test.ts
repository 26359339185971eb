/**
 * A fresh project for each runtime, made as its page in docs/start says: the packed library, the files of the page, the page's own command. It is
 * started, limited, and seen to answer 429. (Next.js, which takes longer to build than all others together, is in next.test.ts.)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { transformWithOxc } from 'vite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startFront, startFunction } from '../../../../tools/lambda/index.ts';
import { installRuntimes, RUNTIMES } from '../../../../tools/runtimes/index.ts';
import { type PackedApp, packedApp } from '../../../../tools/runtimes/packed-app.ts';
import { startWorker } from '../../../../tools/runtimes/workerd.ts';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { runProgram } from '../../../../tools/servers/run-program.ts';
import { type RunningFront, startUpstashFront } from '../../../../tools/servers/upstash-front.ts';
import { textOf } from '../support/doc-blocks.ts';

const PAGES = ['bun', 'deno', 'cloudflare', 'vercel', 'lambda'] as const;
type Page = (typeof PAGES)[number];

/** The files of a page: blocks that begin with their path. */
function filesOf(page: Page): Map<string, string> {
  const blocks = textOf(`docs/start/${page}.md`).matchAll(/```typescript\n\/\/ (\S+)\n(.*?)```/gs);
  return new Map([...blocks].map(([, path, code]) => [path!, code!]));
}

const runtime = (name: string): string => RUNTIMES.find((each) => each.name === name)!.program;

let app: PackedApp;
let redis: RunningServer;
let upstash: RunningFront;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await installRuntimes();
  [app, redis] = await Promise.all([packedApp([]), startServer({ kind: 'redis' })]);
  upstash = await startUpstashFront(redis.url);
  for (const page of PAGES) {
    for (const [path, code] of filesOf(page)) {
      await mkdir(dirname(join(app.folder, page, path)), { recursive: true });
      await writeFile(join(app.folder, page, path), code);
    }
    await writeFile(join(app.folder, page, 'package.json'), '{ "name": "app", "private": true, "type": "module" }\n');
  }
}, 300_000);
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
  await upstash?.stop();
  await redis?.stop();
  await app?.remove();
});

/** What the page says to type, after the name of the program. */
function commandOf(page: Page, program: string, file: string): string[] {
  const line = textOf(`docs/start/${page}.md`)
    .split('\n')
    .find((each) => each.startsWith(`${program} `) && each.endsWith(file));
  return line!.split(' ').slice(1);
}

/** Starts a server in the folder of a page, and resolves to where it listens when it has said so. */
async function start(page: Page, program: string, args: readonly string[]): Promise<string> {
  const env = {
    ...{ ...process.env, PORT: '0', NO_COLOR: '1', REDIS_URL: redis.url },
    ...{ SQLITE_FILE: join(app.folder, `${page}.db`), KV_FILE: join(app.folder, `${page}.kv`) },
    ...{ UPSTASH_REDIS_REST_URL: upstash.url, UPSTASH_REDIS_REST_TOKEN: upstash.token },
  };
  const child = spawn(program, args, { cwd: join(app.folder, page), env });
  cleanups.push(() => ended(child));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (printed += String(piece)));
  const port = (): string | undefined => /listening on .*:(\d+)/i.exec(printed)?.[1];
  await vi.waitUntil(() => port() !== undefined || child.exitCode !== null, { timeout: 60_000 });
  expect(port(), printed).toBeDefined();
  return `http://127.0.0.1:${port()}`;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Five are answered, as the page says, and the sixth gets a 429 that says when to come back. */
async function expectLimited(url: string, headers: Record<string, string> = {}, hasHeaders = true): Promise<void> {
  const responses: Response[] = [];
  for (let time = 0; time < 6; time += 1) responses.push(await fetch(url, { headers }));
  expect(responses.map(({ status }) => status)).toEqual([...Array(5).fill(200), 429]);
  const left = responses.slice(0, 5).map((response) => response.headers.get('x-ratelimit-remaining'));
  expect(left).toEqual(hasHeaders ? ['4', '3', '2', '1', '0'] : Array(5).fill(null));
  expect(Number(responses[5]!.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await responses[5]!.json()).toMatchObject({ status: 429, error: 'rate_limited' });
}

/** The keys of limits that are in Redis, so that nobody answers from memory in its place. */
const inRedis = async (name: string): Promise<boolean> =>
  ((await redis.command('KEYS', '*')) as string[]).some((key) => key.includes(name));

describe('bun', () => {
  test.each([
    ['server.ts', ''],
    ['routes.ts', '/login'],
    ['sqlite.ts', ''],
  ])('%s', async (file, path) => {
    await expectLimited((await start('bun', runtime('Bun'), [file])) + path);
  });

  test('the limit of server.ts is in Redis', async () => expect(await inRedis('api')).toBe(true));

  test('limit.test.ts', () => runProgram(runtime('Bun'), ['test', 'limit.test.ts'], {}, join(app.folder, 'bun')));
});

describe('deno', () => {
  beforeAll(() => redis.command('FLUSHALL'));

  test('server.ts, and a second process shares the limit', async () => {
    const args = commandOf('deno', 'deno', 'server.ts');
    await expectLimited(await start('deno', runtime('Deno'), args));
    expect((await fetch(await start('deno', runtime('Deno'), args))).status).toBe(429);
  });

  test('redis.ts', async () => {
    await expectLimited(await start('deno', runtime('Deno'), commandOf('deno', 'deno', 'redis.ts')));
    expect(await inRedis('api')).toBe(true);
  });

  test('limit.test.ts', () =>
    runProgram(runtime('Deno'), ['test', '--no-check', '--allow-env', 'limit.test.ts'], {}, join(app.folder, 'deno')));
});

describe('cloudflare', () => {
  const from = (client: string) => ({ 'cf-connecting-ip': client });
  beforeAll(() => redis.command('FLUSHALL'));

  test('worker.ts, with the objects of wrangler.toml', async () => {
    const [, binding, of] = /name = "(\w+)"\nclass_name = "(\w+)"/.exec(textOf('docs/start/cloudflare.md'))!;
    const worker = await startWorker({ entry: join(app.folder, 'cloudflare/worker.ts'), objects: { [binding!]: of! } });
    cleanups.push(() => worker.stop());
    await expectLimited(worker.url, from('203.0.113.7'));
    const together = await Promise.all(
      Array.from({ length: 20 }, () => fetch(worker.url, { headers: from('203.0.113.8') })),
    );
    expect(together.filter(({ status }) => status === 200)).toHaveLength(5);
  });

  test('upstash.ts', async () => {
    const variables = { UPSTASH_REDIS_REST_URL: upstash.url, UPSTASH_REDIS_REST_TOKEN: upstash.token };
    const worker = await startWorker({ entry: join(app.folder, 'cloudflare/upstash.ts'), variables });
    cleanups.push(() => worker.stop());
    await expectLimited(worker.url, from('203.0.113.7'));
    const together = await Promise.all(
      Array.from({ length: 20 }, () => fetch(worker.url, { headers: from('203.0.113.8') })),
    );
    expect(together.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(await inRedis('api')).toBe(true);
  });
});

/** Calls functions as Vercel does: by the name of the method with a Request, and middleware, which may answer with nothing, by its default. */
const FUNCTIONS = `import { createServer } from 'node:http';
const found = await import(process.argv[2]);
const server = createServer(async (incoming, outgoing) => {
  const request = new Request('https://localhost' + incoming.url, { headers: incoming.headers });
  const response = (await (found[incoming.method] ?? found.default)(request, { waitUntil: () => {} })) ?? new Response('next');
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
});
server.listen(process.env.PORT, '127.0.0.1', () => console.log('listening on 127.0.0.1:' + server.address().port));
`;

describe('vercel', () => {
  beforeAll(() => redis.command('FLUSHALL'));

  test.each([
    ['api/hello.ts', true],
    ['middleware.ts', false],
  ])('%s', async (file, hasHeaders) => {
    const folder = join(app.folder, 'vercel');
    const name = file.replace('.ts', '.mjs');
    await writeFile(join(folder, name), (await transformWithOxc(filesOf('vercel').get(file)!, file)).code);
    await writeFile(join(folder, 'functions.mjs'), FUNCTIONS);
    const url = await start('vercel', process.execPath, ['functions.mjs', `./${name}`]);
    await expectLimited(url, { 'x-real-ip': '203.0.113.7' }, hasHeaders);
    expect(await inRedis(hasHeaders ? 'api' : 'all')).toBe(true);
  });
});

describe('lambda', () => {
  beforeAll(() => redis.command('FLUSHALL'));

  test.each([
    ['index.handler', 'api'],
    ['streaming.handler', 'stream'],
  ])('%s', async (handler, name) => {
    const env = { REDIS_URL: redis.url };
    const running = await startFunction({ folder: join(app.folder, 'lambda'), handler, env });
    cleanups.push(() => running.stop());
    const front = await startFront(running.invoke, 'http', '203.0.113.7');
    cleanups.push(() => front.stop());
    await expectLimited(`http://127.0.0.1:${front.port}/`);
    expect(await inRedis(name)).toBe(true);
  });
});

/** As a new project has them. */
const COMPILER = {
  compilerOptions: {
    ...{ strict: true, noEmit: true, target: 'es2022', lib: ['es2022', 'dom'], types: [] },
    ...{ module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true },
  },
  include: ['cloudflare', 'vercel'],
};

test('the files of the pages are right for TypeScript', async () => {
  await writeFile(join(app.folder, 'tsconfig.pages.json'), JSON.stringify(COMPILER));
  const compiler = join(app.folder, 'node_modules/typescript/bin/tsc');
  await runProgram(process.execPath, [compiler, '-p', 'tsconfig.pages.json'], {}, app.folder);
  const check = ['check', '--unstable-kv', 'server.ts', 'redis.ts', 'limit.test.ts'];
  await runProgram(runtime('Deno'), check, {}, join(app.folder, 'deno'));
});

test.each(PAGES)('%s: every file of the page is run above', (page) => {
  expect([...filesOf(page).keys()]).toEqual(
    {
      bun: ['server.ts', 'routes.ts', 'sqlite.ts', 'limit.test.ts'],
      deno: ['server.ts', 'redis.ts', 'limit.test.ts'],
      cloudflare: ['worker.ts', 'upstash.ts'],
      vercel: ['api/hello.ts', 'middleware.ts'],
      lambda: ['index.mjs', 'streaming.mjs'],
    }[page],
  );
});
