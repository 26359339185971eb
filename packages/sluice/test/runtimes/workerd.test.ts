/** The fetch adapter and the memory store in workerd, the runtime of Cloudflare Workers: bundled, then served and asked over HTTP. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningWorker, startWorker } from '../../../../tools/runtimes/workerd.ts';

let worker: RunningWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: fileURLToPath(new URL('worker.mjs', import.meta.url)) });
}, 300_000);
afterAll(() => worker?.stop());

const ask = async (path: string, client = '203.0.113.7') => {
  const response = await fetch(worker.url + path, { headers: { 'cf-connecting-ip': client } });
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
