/** The lab's page as it is served: its files and nothing else, with headers that let browsers keep them and forbid them the rest of the world. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Lab, openLab } from '../src/lab/lab.ts';
import { readPage } from '../src/lab/page.ts';
import { LAB_PATHS } from '../src/lab/paths.ts';
import { jsonLog } from '../src/service/log.ts';
import { OPENAPI } from '../src/service/openapi.ts';
import { serve, sluice } from './processes.ts';
import { ask, type RunningService, startService } from './support.ts';

const HTML = '<!doctype html><title>Sluice lab</title>';
const SCRIPT = 'console.log("lab");'.repeat(100);
const silent = jsonLog(() => {});

let folder: string;
let lab: Lab;
let running: RunningService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-page-'));
  await mkdir(join(folder, 'page', 'assets'), { recursive: true });
  await writeFile(join(folder, 'secret.js'), 'secret');
  await writeFile(join(folder, 'page', 'index.html'), HTML);
  await writeFile(join(folder, 'page', 'notes.txt'), 'not of the page');
  await writeFile(join(folder, 'page', 'assets', 'index-DiwrgTda.js'), SCRIPT);
  lab = await openLab({ page: await readPage(join(folder, 'page')) }, silent);
  running = await startService({ beside: lab });
});
afterAll(async () => {
  await running.stop();
  await rm(folder, { recursive: true });
});

interface Raw {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** fetch would tidy up paths and unpack bodies. */
function raw(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: running.port, path, method, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) });
    })
      .on('error', reject)
      .end();
  });
}

test('the page is asked for again each time, its assets never', async () => {
  const page = await raw('/');
  expect([page.status, page.body.toString(), page.headers['content-type'], page.headers['cache-control']]).toEqual([
    ...[200, HTML, 'text/html; charset=utf-8', 'no-cache'],
  ]);
  const asset = await raw('/assets/index-DiwrgTda.js');
  expect([asset.status, asset.body.toString(), asset.headers['content-type'], asset.headers['cache-control']]).toEqual([
    ...[200, SCRIPT, 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
  ]);
});

test('who has it already is told so', async () => {
  const { etag } = (await raw('/')).headers;
  for (const known of [etag!, `W/${etag}`, `"other", ${etag}`]) {
    const again = await raw('/', { 'if-none-match': known });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  }
  expect((await raw('/', { 'if-none-match': '"other"' })).status).toBe(200);
});

test.each([
  ['gzip, deflate, br', true],
  ['gzip;q=0.5', true],
  ['gzip;q=0, br', false],
  ['br', false],
  ['', false],
])('with Accept-Encoding: %s, packed: %s', async (accepted, isPacked) => {
  const { headers, body } = await raw('/assets/index-DiwrgTda.js', { 'accept-encoding': accepted });
  expect([headers['content-encoding'], headers.vary]).toEqual([isPacked ? 'gzip' : undefined, 'Accept-Encoding']);
  expect((isPacked ? gunzipSync(body) : body).toString()).toBe(SCRIPT);
  if (isPacked) expect(body.length).toBeLessThan(SCRIPT.length / 5);
});

test('forbids the page to ask anybody else', async () => {
  const { headers } = await raw('/');
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).not.toMatch(/https?:|\*|unsafe/);
  expect([headers['x-content-type-options'], headers['referrer-policy']]).toEqual(['nosniff', 'no-referrer']);
});

test.each([
  '/secret.js',
  '/../secret.js',
  '/assets/../../secret.js',
  '/assets/..%2f..%2fsecret.js',
  '/assets/%2e%2e/%2e%2e/secret.js',
  '/assets/..',
  '/assets/',
  '/assets/nothing.js',
  '/assets/index-DiwrgTda.js/',
  '/assets/%',
  '/assets/%00',
  '/index.html',
  '/notes.txt',
  '/__proto__',
  '/assets/__proto__',
  '//etc/passwd',
])('%s is not there', async (path) => {
  expect((await raw(path)).status).toBe(404);
});

test('HEAD says the same, without the body; nothing else is taken', async () => {
  const [get, head] = [await raw('/'), await raw('/', {}, 'HEAD')];
  expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
    200,
    0,
    get.headers['content-length'],
  ]);
  expect((await raw('/', {}, 'POST')).status).toBe(405);
});

test('where everything needs the token the page is open, and all it could ask is not', async () => {
  const service = await startService({ beside: lab, token: 'secret', protect: 'everything' });
  expect((await service.get('/')).status).toBe(200);
  expect((await service.get('/assets/index-DiwrgTda.js')).status).toBe(200);
  for (const path of ['/api/lab/engines', '/v1/live']) {
    expect((await service.get(path)).status).toBe(401);
    expect((await service.get(path, { authorization: 'Bearer secret' })).status).toBe(200);
  }
  for (const path of [
    '/api/rate-limit/gcra',
    '/api/rate-limit/gcra/burst',
    '/api/rate-limit/reset',
    '/api/lab/reset',
  ]) {
    expect((await service.post(path, '')).status).toBe(401);
    expect((await service.post(path, '', { authorization: 'Bearer secret' })).status).toBe(200);
  }
  await service.stop();
});

test('without a lab there is nothing at / and under /api', async () => {
  const service = await startService();
  expect((await service.get('/')).status).toBe(404);
  expect((await service.post('/api/rate-limit/gcra', '')).status).toBe(404);
  await service.stop();
});

describe('sluice serve', () => {
  test('gives out the page that was built, says where, and its scripts load', async () => {
    const server = await serve([]);
    expect(server.greeting).toContain(`The lab: ${server.url}/\n`);
    const { status, text } = await ask(`${server.url}/`, {});
    expect([status, /<title>[^<]+ · Sluice<\/title>/.test(text)]).toEqual([200, true]);
    const assets = [...text.matchAll(/(?:src|href)="\.?\/(assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThan(1);
    for (const asset of assets) expect((await ask(`${server.url}/${asset}`, {})).status).toBe(200);
    await server.stop();
  });

  test('has none with --no-lab, and its help says so', async () => {
    const server = await serve(['--no-lab']);
    expect(server.greeting).not.toContain('The lab');
    for (const path of ['/', '/api/lab/engines']) expect((await ask(server.url + path, {})).status).toBe(404);
    await server.stop();
    expect((await sluice('serve', '--help')).out).toContain('--no-lab');
  });
});

describe('the description', () => {
  const ajv = new Ajv({ strict: false, allowUnionTypes: true });
  ajv.addSchema({ $id: 'api', components: OPENAPI.components });
  type Operation = { responses: Record<string, { content: Record<string, { schema: object }> }> };

  test('names exactly the routes there are', async () => {
    const described = Object.entries(LAB_PATHS).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/, ':$1')}`),
    );
    const real = lab.routes.flatMap(({ methods, path }) => methods.map((method) => `${method} ${path}`));
    expect(described.sort()).toEqual(real.sort());
    const { body } = await running.get('/openapi.json');
    for (const path of Object.keys(LAB_PATHS)) expect(body.paths[path]).toEqual(LAB_PATHS[path]);
    expect(Object.keys(body.paths)).toContain('/v1/attempt');
  });

  test('without a page names none', async () => {
    const bare = await openLab({ page: await readPage(join(folder, 'nowhere')) }, silent);
    expect([bare.hasPage, '/' in bare.paths, '/assets/{file}' in bare.paths]).toEqual([false, false, false]);
    const service = await startService({ beside: bare });
    expect([(await service.get('/')).status, (await service.get('/api/lab/engines')).status]).toEqual([404, 200]);
    await service.stop();
  });

  const attempts = [{ card: 'a', policy: { algorithm: 'gcra', limit: 1, period: '1h' } }];
  const BODIES: Readonly<Record<string, unknown>> = { '/api/lab/attempt': { engine: 'memory', attempts } };

  test.each(Object.keys(LAB_PATHS))('%s answers as described', async (path) => {
    const target = path.replace('{algorithm}', 'gcra').replace('{file}', 'index-DiwrgTda.js');
    for (const [method, operation] of Object.entries(LAB_PATHS[path]!) as [string, Operation][]) {
      const good = BODIES[path] ?? {};
      const replies =
        method === 'get'
          ? [await running.get(target)]
          : [await running.post(target, good), await running.post(target, '{'), await running.post(target, { x: 1 })];
      expect(replies[0]!.status).toBe(200);
      for (const { status, headers, body, text } of replies) {
        const described = operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`];
        const schema = described!.content[headers.get('content-type')!.split(';')[0]!]!.schema;
        const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
        const validate = ajv.compile(pointed);
        expect(validate(body ?? text), JSON.stringify(validate.errors)).toBe(true);
      }
    }
  });
});
