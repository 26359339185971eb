/** SvelteKit: examples/sveltekit, built by Vite and started by adapter-node, asked over HTTP. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildKitApp, type KitApp } from '../../../../tools/sveltekit/index.ts';

let app: KitApp;
let stop: (() => Promise<void>) | undefined;
beforeAll(async () => {
  app = await buildKitApp(fileURLToPath(new URL('../../../../examples/sveltekit', import.meta.url)));
}, 300_000);
afterAll(async () => {
  await stop?.();
  await app?.remove();
});

/** Where a proxy tells the address, as adapter-node is told of it. */
const BEHIND_PROXY = { ADDRESS_HEADER: 'X-Forwarded-For', XFF_DEPTH: '1', ORIGIN: 'http://127.0.0.1' };

test('requests count by the address that the adapter says, logins by themselves, and what SvelteKit asks itself not at all', async () => {
  const running = await app.start(BEHIND_PROXY);
  stop = running.stop;
  const ask = async (from: string, path: string, method = 'GET') => {
    const response = await fetch(running.url + path, { method, headers: { 'x-forwarded-for': from } });
    return { status: response.status, body: await response.text(), headers: response.headers };
  };
  for (const left of [4, 3, 2, 1, 0])
    expect(await ask('192.0.2.1', '/')).toMatchObject({ status: 200, body: `{"left":${left}}` });
  const { status, headers, body } = await ask('192.0.2.1', '/');
  expect([status, headers.get('content-type'), headers.get('ratelimit-policy')]).toEqual([
    ...[429, 'application/problem+json', '"burst";q=5;w=300'],
  ]);
  expect(headers.get('retry-after')).toMatch(/^\d+$/);
  expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['burst'] });
  expect((await ask('192.0.2.2', '/')).body).toBe('{"left":4}');

  for (let time = 0; time < 2; time++) expect((await ask('192.0.2.1', '/login', 'POST')).body).toBe('{"welcome":true}');
  expect((await ask('192.0.2.1', '/login', 'POST')).status).toBe(429);

  for (let time = 0; time < 8; time++) expect((await ask('192.0.2.1', '/health')).body).toBe('ok');
  expect((await ask('192.0.2.3', '/inner')).body).toBe('ok');
  expect((await ask('192.0.2.3', '/')).body).toBe('{"left":3}');
});
