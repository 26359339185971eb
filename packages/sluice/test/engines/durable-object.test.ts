/** `sluice/durable-object` in workerd: the contract inside of a worker, requests at the same time, an object that fails or hangs, and what is left. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningWorker, startWorker } from '../../../../tools/runtimes/workerd.ts';
import { storeContract } from '../../src/testing/index.ts';
import { blockFolder, textOf } from '../support/doc-blocks.ts';
import { expectInTable } from './support/measured.ts';

const CASES = storeContract(() => {
  throw new Error('only counted');
}).length;

let worker: RunningWorker;
beforeAll(async () => {
  const entry = fileURLToPath(new URL('support/object-worker.mjs', import.meta.url));
  worker = await startWorker({ entry, objects: { LIMITS: 'Limits' } });
});
afterAll(() => worker?.stop());

// biome-ignore lint/suspicious/noExplicitAny: what the worker says, as a test reads it.
async function ask(path: string): Promise<any> {
  const response = await fetch(worker.url + path);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

test('keeps the whole contract', async () => {
  expect(await ask('/contract')).toEqual({ cases: CASES });
});

test('800 requests at the same time are allowed exactly the limit', async () => {
  const answers: { allowed: boolean; source: string }[] = [];
  const spend = async (): Promise<void> => {
    for (let time = 0; time < 100; time += 1) answers.push(await ask('/spend?key=shared'));
  };
  await Promise.all(Array.from({ length: 8 }, spend));
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(50);
  expect(answers.filter(({ source }) => source !== 'store' && source !== 'deny-cache')).toEqual([]);
  const allowed = answers.filter((answer) => answer.allowed).length;
  await expectInTable('Durable Objects', { allowed, calls: await ask('/calls'), on: 'workerd, 800 requests' });
});

test('a request is limited, and told when', async () => {
  const get = () => fetch(worker.url, { headers: { 'cf-connecting-ip': '203.0.113.7' } });
  const responses = [await get(), await get(), await get(), await get()];
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(responses[3]!.headers.get('retry-after')).toMatch(/^\d+$/);
});

describe.each(['throw', 'hang'])('an object that does: %s', (mode) => {
  test('is answered for in time, and asked again', async () => {
    await expect.poll(() => ask('/outage?mode=none')).toMatchObject({ source: 'store' });
    const start = performance.now();
    const { source, events } = await ask(`/outage?mode=${mode}`);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect([source, events.at(-1)]).toEqual(['fallback', 'fallback']);
    await expect.poll(() => ask('/outage?mode=none')).toMatchObject({ source: 'store' });
  });
});

test('an attempt on several keys gives back what it spent when one of them denies', async () => {
  expect(await ask('/several')).toEqual({ allowed: false, full: 3 });
});

test('an object deletes what means nothing any more', async () => {
  expect(await ask('/short')).toEqual({ remaining: 9, stored: 1 });
  await expect.poll(() => ask('/stored'), { timeout: 60_000, interval: 200 }).toEqual({ stored: 0 });
  expect(await ask('/short')).toEqual({ remaining: 9, stored: 1 });
});

test('mistakes are said in the worker', async () => {
  expect(await ask('/mistakes')).toEqual({
    mistakes: [
      'SLUICE_INVALID_CLIENT durableObjectStore(namespace)',
      'SLUICE_INVALID_OPTION durableObjectStore.silence',
      'SLUICE_INVALID_OPTION durableObjectStore.fallbak',
      'SLUICE_NO_HISTORY policy.algorithm',
    ],
  });
});

test('the worker of the page', async () => {
  const page = 'docs/engines/durable-object.md';
  const [, code = ''] = /```typescript\n(.*?)```/s.exec(textOf(page)) ?? [];
  const folder = blockFolder('object-page');
  const entry = fileURLToPath(await folder.write({ page, index: 0, code, title: 'worker' }));
  const own = await startWorker({ entry, objects: { LIMITS: 'RateLimitObject' } });
  const statuses: number[] = [];
  for (let time = 0; time < 6; time += 1) {
    statuses.push((await fetch(own.url, { headers: { 'cf-connecting-ip': '203.0.113.7' } })).status);
  }
  expect(statuses).toEqual([...Array(5).fill(200), 429]);
  await own.stop();
  folder.remove();
});
