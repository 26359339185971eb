/** The examples that tell a story, on each runtime: started as a visitor would, and driven over HTTP. */
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { RUNTIMES, type Runtime } from '../tools/runtimes/index.ts';
import type { PackedApp } from '../tools/runtimes/packed-app.ts';
import { startServer } from '../tools/servers/index.ts';
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

/** Asks the proxy: the status, what is left, and the text. */
async function askProxy(url: string, body: object, key = 'ada') {
  const headers = { 'content-type': 'application/json', ...(key === '' ? {} : { 'x-api-key': key }) };
  const response = await fetch(`${url}/v1/chat`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, text, left: isJson ? JSON.parse(text).left : undefined, headers: response.headers };
}

async function tellsTheStory(url: string): Promise<void> {
  const ask = (prompt: string, maxTokens: number, key?: string) => askProxy(url, { prompt, maxTokens }, key);
  // 3 words and 20 more are reserved; 6 are used.
  expect(await ask('one two three', 900)).toMatchObject({ status: 200, left: 994 });
  expect(await ask('headless', 900)).toMatchObject({ status: 200, left: 992 });
  expect((await ask('crash', 900)).status).toBe(502);
  const streamed = await askProxy(url, { prompt: 'one two three', maxTokens: 2, stream: true });
  expect([streamed.status, streamed.text.match(/"content":"\w+"/g)?.length]).toEqual([200, 2]);
  // The one that failed has cost nothing, and the stream what it used.
  expect(await ask('one', 1)).toMatchObject({ status: 200, left: 985 });
  const long = await ask('word '.repeat(960), 960);
  expect(long.status).toBe(200);
  // It used 935 more than there were: until they have come back, nothing is allowed.
  const denied = await ask('one', 1);
  expect([denied.status, Number(denied.headers.get('retry-after')) > 30_000]).toEqual([429, true]);
  expect(await ask('one', 1, 'bob')).toMatchObject({ status: 200, left: 998 });
  expect((await ask('one', -1, 'bob')).status).toBe(400);
  expect(await askProxy(url, { prompt: 'one', maxTokens: 1 }, '')).toMatchObject({ status: 401 });
}

onEach(
  'llm-proxy on $name: an estimate is reserved, the truth is settled, and a failure costs nothing',
  async (runtime, context) => tellsTheStory(await start(runtime, 'llm-proxy', context)),
);

test.concurrent('llm-proxy on Redis: two proxies have one budget', async (context) => {
  const redis = await startServer({ kind: 'redis' });
  context.onTestFinished(() => redis.stop());
  const node = RUNTIMES.find(({ name }) => name.startsWith('Node'))!;
  const proxies = await Promise.all([1, 2].map(() => startExample(app, node, 'llm-proxy', { REDIS_URL: redis.url })));
  context.onTestFinished(async () => void (await Promise.all(proxies.map(({ stop }) => stop()))));
  const [one, other] = proxies.map(({ url }) => url) as [string, string];
  expect(await askProxy(one, { prompt: 'one two three', maxTokens: 900 }, 'eve')).toMatchObject({
    status: 200,
    left: 994,
  });
  expect(await askProxy(other, { prompt: 'one two three', maxTokens: 900 }, 'eve')).toMatchObject({ left: 988 });
  await tellsTheStory(one);
});

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
  await context.expect.poll(async () => (await ask('key-of-ada')).status, { timeout: 10_000, interval: 200 }).toBe(200);
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
