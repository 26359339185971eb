/** The examples that tell a story, on each runtime: started as a visitor would, and driven over HTTP. */
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { RUNTIMES, type Runtime } from '../tools/runtimes/index.ts';
import type { PackedApp } from '../tools/runtimes/packed-app.ts';
import { appWithExamples, startExample } from './start.ts';

let app: PackedApp;
beforeAll(async () => {
  app = await appWithExamples();
}, 300_000);
afterAll(() => app?.remove());

/** They mostly wait, so the runtimes are tried side by side. */
const onEach = test.concurrent.for(RUNTIMES);

const start = async (runtime: Runtime, name: string, { onTestFinished }: TestContext): Promise<string> => {
  const { url, stop } = await startExample(app, runtime, name);
  onTestFinished(stop);
  return url;
};

onEach(
  'login on $name: only failures count, the third locks the account, and the desk unlocks it',
  async (runtime, context) => {
    const url = await start(runtime, 'login', context);
    const login = async (name: string, password: string): Promise<number> =>
      (await fetch(`${url}/login`, { method: 'POST', body: new URLSearchParams({ name, password }) })).status;

    expect(await (await fetch(url)).text()).toContain('<form');
    expect([(await fetch(`${url}/login`, { method: 'POST' })).status, await login('', 'x')]).toEqual([400, 400]);
    for (let time = 0; time < 10; time++) expect(await login('ada', 'analytical')).toBe(200);
    expect([await login('ada', 'a'), await login('Ada', 'b'), await login('ada', 'c')]).toEqual([401, 401, 401]);
    expect([await login('ada', 'analytical'), await login('grace', 'compiler')]).toEqual([429, 200]);

    const locked = await fetch(`${url}/login`, { method: 'POST', body: new URLSearchParams({ name: 'ada' }) });
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(15 * 60); // longer than its window: it is the lock
    expect((await fetch(`${url}/locks/Ada`, { method: 'DELETE' })).status).toBe(204);
    expect(await login('ada', 'analytical')).toBe(200);
  },
);

onEach(
  'llm-proxy on $name: the most is reserved, the truth is settled, and a failure costs nothing',
  async (runtime, context) => {
    const url = await start(runtime, 'llm-proxy', context);
    const ask = async (prompt: string, maxTokens: number, key = 'ada') => {
      const response = await fetch(`${url}/v1/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify({ prompt, maxTokens }),
      });
      const left = /r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1];
      return [response.status, Number(left), response.headers.get('retry-after')];
    };
    // 3 words and at most 900 more are reserved; 6 are used.
    expect(await ask('one two three', 900)).toEqual([200, 97, null]);
    expect(await ask('one two three', 900)).toEqual([200, 91, null]);
    expect(await ask('crash', 900)).toEqual([500, 87, null]);
    // Two answers of 6 were used, and nothing for the one that failed.
    expect(await ask('one', 987)).toEqual([200, 0, null]);
    expect(await ask('one', 990)).toEqual([429, 986, expect.stringMatching(/^\d+$/)]);
    expect(await ask('one', 5000)).toEqual([429, 986, null]); // never fits: no promise
    expect(await ask('one', 10, 'bob')).toEqual([200, 989, null]);
    expect((await ask('one', -1))[0]).toBe(400);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"prompt":"one","maxTokens":1}',
    };
    const keyless = await fetch(`${url}/v1/chat`, init);
    expect([keyless.status, await keyless.text()]).toEqual([
      401,
      expect.stringContaining('the header x-api-key is missing'),
    ]);
  },
);

onEach('multi-tenant on $name: each by its plan, and an upgrade holds at once', async (runtime, context) => {
  const url = await start(runtime, 'multi-tenant', context);
  const ask = async (key: string, path = '/reports', method = 'GET') => {
    const response = await fetch(url + path, { method, headers: { 'x-api-key': key } });
    return { status: response.status, policy: response.headers.get('ratelimit-policy'), body: await response.text() };
  };
  const free = { policy: '"burst";q=3;w=180, "daily";q=100;w=86400' };
  const pro = { policy: '"burst";q=50;w=50, "daily";q=10000;w=86400' };

  expect(await ask('nobody')).toMatchObject({ status: 401, policy: null });
  expect(await ask('key-of-bell')).toMatchObject({ status: 200, ...pro, body: '{"tenant":"bell","left":49}' });
  for (const left of [2, 1, 0]) {
    expect(await ask('key-of-ada')).toMatchObject({ status: 200, ...free, body: `{"tenant":"ada","left":${left}}` });
  }
  expect(await ask('key-of-ada')).toMatchObject({ status: 429, ...free });
  expect(await ask('key-of-ada', '/upgrade', 'POST')).toMatchObject({ status: 200 });
  // The new rate refills what the old plan had spent.
  await expect.poll(async () => (await ask('key-of-ada')).status, { timeout: 10_000, interval: 200 }).toBe(200);
});

onEach('outbound on $name: calls go out evenly, and who would wait too long is told', async (runtime, context) => {
  const url = await start(runtime, 'outbound', context);
  const quotes = async (n: number): Promise<string[]> => (await fetch(`${url}/?n=${n}`)).json() as Promise<string[]>;
  const partner = async (): Promise<object> => (await fetch(`${url}/partner`)).json() as Promise<object>;

  expect(await quotes(10)).toEqual(Array.from({ length: 10 }, (_, index) => `quote for item-${index}`));
  expect(await partner()).toEqual({ served: 10, refused: 0 });
  const many = await quotes(60);
  // Forty fit into two seconds, on a machine that does not stand still meanwhile.
  expect(many.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => `quote for item-${index}`));
  expect(many.at(-1)).toMatch(/^SLUICE_/);
  expect(await partner()).toMatchObject({ refused: 0 });
});
