/**
 * What is wrong by construction is refused, every time, and leaves nothing behind: no state, no hold, no socket, no memory. In a
 * file of its own, because it looks at everything that this process has open.
 */
import fc from 'fast-check';
import { memoryStore } from 'sluice';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '../../../tools/servers/wait-until.ts';
import { broken, MAX_BODY_BYTES, malformed, UNFINISHED, unwelcome } from './malformed.ts';
import { exchange, type RawResponse, rawRequest } from './raw.ts';
import { heapBytes, type RunningService, startService } from './support.ts';

const seed = Number(process.env.SLUICE_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const AT_ONCE = 50;

const store = memoryStore();
let service: RunningService;
beforeAll(async () => {
  console.log(`malformed: SLUICE_SEED=${seed}`);
  service = await startService({
    store: { store, description: 'test', failsClosed: false, isUp: async () => true, close: async () => {} },
    maxBodyBytes: MAX_BODY_BYTES,
    headersTimeoutMs: 300,
    bodyTimeoutMs: 300,
  });
});
afterAll(() => service.stop());

function expectRefused(response: RawResponse | undefined, request: Buffer): void {
  const isRefused = response !== undefined && response.status >= 400 && response.status < 500;
  // By the id a gateway knows that it was the service that refused, and lets nobody through.
  if (isRefused && /^x-request-id: [\w-]+$/im.test(response.head) && 'error' in JSON.parse(response.body)) return;
  const sent = request.toString('latin1').slice(0, 500);
  expect.fail(`SLUICE_SEED=${seed}: ${response?.head}\n${response?.body}\nto ${sent}`);
}

async function sendMalformed(count: number, from: number): Promise<void> {
  const requests = fc.sample(malformed, { numRuns: count, seed: from });
  for (let at = 0; at < count; at += AT_ONCE) {
    const batch = requests.slice(at, at + AT_ONCE);
    const responses = await exchange(service.port, batch, batch.length);
    for (const [index, request] of batch.entries()) expectRefused(responses[index], request);
  }
}

async function ask(request: Buffer): Promise<RawResponse> {
  const [response] = await exchange(service.port, [request], 1);
  return response!;
}

/** Of this process, in which the service runs: both ends of each connection, and what listens. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;
}

const closed = (before: number) => waitUntil('no socket is left', () => openSockets() <= before);

test('twelve thousand requests, one after the other without waiting, leave nothing', async () => {
  const before = openSockets();
  // Once to fill caches and pools, then to be measured.
  await sendMalformed(2000, seed);
  const heapBefore = heapBytes();
  await sendMalformed(10_000, seed + 1);
  await closed(before);
  expect(heapBytes() - heapBefore).toBeLessThan(3 * 2 ** 20);
  expect(store.stats()).toEqual({ keys: 0, bytes: 0, evicted: 0 });
  expect(service.logs).toEqual([]);
});

test('what is no HTTP ends its connection, and nothing after it is read', async () => {
  const attempt = rawRequest('POST /v1/attempt', [], JSON.stringify({ policy: 'api', key: 'smuggled' }));
  await sendFatal(fc.sample(broken, { numRuns: 1000, seed }), [attempt]);
});

test('what is too large or expects too much ends its connection', async () => {
  await sendFatal(fc.sample(unwelcome, { numRuns: 200, seed }), []);
});

async function sendFatal(requests: readonly Buffer[], after: readonly Buffer[]): Promise<void> {
  const before = openSockets();
  for (let at = 0; at < requests.length; at += AT_ONCE) {
    const batch = requests.slice(at, at + AT_ONCE);
    const replies = await Promise.all(batch.map((request) => exchange(service.port, [request, ...after])));
    for (const [index, [first]] of replies.entries()) expectRefused(first, batch[index]!);
  }
  await closed(before);
  expect(store.stats().keys).toBe(0);
  expect(service.logs).toEqual([]);
}

test('what never ends is ended, and meanwhile others are served', async () => {
  const before = openSockets();
  const slow = Array.from({ length: 20 }, () => UNFINISHED).flat();
  const replies = Promise.all(slow.map((text) => exchange(service.port, [text])));
  expect((await ask(rawRequest('GET /healthz', []))).status).toBe(200);
  for (const [index, [first]] of (await replies).entries()) {
    expect(first?.status, slow[index]).toBe(408);
    expect(first?.head, slow[index]).toMatch(/^x-request-id: /im);
  }
  await closed(before);
  expect(service.logs).toEqual([]);
});
