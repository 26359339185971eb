/** Limits in flight over HTTP and from the command line: a permit is taken at one server and given back at another. */
import { manualClock } from 'sluice';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { memoryAt, type RunningService, startService } from './support.ts';

const policy = { algorithm: 'concurrency', name: 'renderers', limit: 2, ttl: '30s' };
const subject = { key: 'gpu', policy };

let running: RunningService;
beforeEach(async () => {
  running = await startService();
});
afterEach(() => running.stop());

const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
  const reply = await running.post(path, body);
  expect([reply.status, reply.body]).toEqual([200, reply.body]);
  return reply.body;
};

describe('over HTTP', () => {
  test('as many as the limit, and a release makes room', async () => {
    const [first, second, third] = [
      await post('/v1/enter', subject),
      await post('/v1/enter', subject),
      await post('/v1/enter', subject),
    ];
    expect([first, second, third]).toMatchObject([
      { allowed: true, remaining: 1, permit: expect.any(String) },
      { allowed: true, remaining: 0, permit: expect.any(String) },
      { allowed: false, remaining: 0, retryAfter: 30, permit: null },
    ]);
    expect(await post('/v1/release', { permit: first!.permit })).toEqual({ released: true });
    expect(await post('/v1/release', { permit: first!.permit })).toEqual({ released: false });
    expect(await post('/v1/extend', { permit: first!.permit })).toEqual({ extended: false });
    expect(await post('/v1/extend', { permit: second!.permit })).toEqual({ extended: true });
    expect(await post('/v1/enter', subject)).toMatchObject({ allowed: true });
  });

  test('beside a rate, of which a release gives nothing back', async () => {
    const both = { key: 'gpu', policies: [policy, 'api'] };
    const { permit } = await post('/v1/enter', both);
    expect(await post('/v1/release', { permit })).toEqual({ released: true });
    expect(await post('/v1/peek', { key: 'gpu', policy: 'api' })).toMatchObject({ remaining: 9 });
    expect(await post('/v1/peek', subject)).toMatchObject({ remaining: 2 });
  });

  const written = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url');
  test.each<[string, object, string]>([
    ['/v1/enter', { key: 'a', policy: 'api' }, 'SLUICE_NO_PERMITS'],
    ['/v1/release', {}, 'permit'],
    ['/v1/release', { permit: 5 }, 'permit'],
    ['/v1/release', { permit: 'x' }, 'permit'],
    ['/v1/release', { permit: written([1]) }, 'permit'],
    ['/v1/release', { permit: written({ ...subject, spends: [], source: 'store' }) }, 'permit'],
    ['/v1/release', { permit: written({ ...subject, spends: [{}], source: 'store' }) }, 'permitOf'],
    ['/v1/release', { permit: written({ key: 'a', policy: 'api', spends: [{}], source: 'store' }) }, 'permit'],
    ['/v1/extend', { permit: 'x'.repeat(70_000) }, 'permit'],
  ])('%s refuses %j', async (path, body, word) => {
    const reply = await running.post(path, body);
    expect(reply.status).toBe(400);
    expect(JSON.stringify(reply.body)).toContain(word);
  });
});

test('what one server gave another gives back', async () => {
  const store = memoryAt(manualClock(1_000_000));
  const [one, another] = [await startService({ store }), await startService({ store })];
  try {
    const { permit } = (await one.post('/v1/enter', subject)).body;
    expect((await another.post('/v1/extend', { permit })).body).toEqual({ extended: true });
    expect((await another.post('/v1/release', { permit })).body).toEqual({ released: true });
    expect((await one.post('/v1/release', { permit })).body).toEqual({ released: false });
  } finally {
    await Promise.all([one.stop(), another.stop()]);
  }
});

test('from the command line', async () => {
  const server = ['--server', running.url];
  const json = JSON.stringify(policy);
  const entered = await run(['enter', 'gpu', '--policy', json, '--cost', '2', ...server]);
  expect(entered.code).toBe(0);
  const denied = await run(['enter', 'gpu', '--policy', json, ...server]);
  expect([denied.code, denied.out]).toEqual([1, expect.stringContaining('denied: 0 of 2 left (renderers)')]);
  const permit = entered.out.trim();
  expect(await run(['extend', permit, ...server])).toMatchObject({ code: 0, out: expect.stringContaining('done') });
  expect(await run(['release', permit, ...server])).toMatchObject({ code: 0, out: expect.stringContaining('done') });
  expect(await run(['release', permit, ...server])).toMatchObject({ code: 1 });
  expect((await run(['release', ...server])).code).toBe(2);
});
