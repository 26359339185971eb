/**
 * Next.js, as docs/start/next.md shows it: its files are taken from the page, type-checked and built by `next build`, started, and asked over
 * HTTP. Route handlers and proxy.ts on Node with Redis, middleware.ts and a route at the edge, a server action.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AppFiles,
  buildNextApp,
  installNext,
  type NextApp,
  type RunningApp,
} from '../../../../tools/next/index.ts';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { type RunningFront, startUpstashFront } from '../../../../tools/servers/upstash-front.ts';

const page = readFileSync(new URL('../../../../docs/start/next.md', import.meta.url), 'utf8');
const documented: AppFiles = Object.fromEntries(
  [...page.matchAll(/```typescript\n\/\/ (\S+)\n(.*?)```/gs)].map(([, path, code]) => [path!, code!]),
);

const FORM = `import { subscribe } from './actions';

export default function Page() {
  return <form action={subscribe}><input name="email" /><button>Subscribe</button></form>;
}
`;

/** Vercel builds with the variables of the project; the client only wants to see some. */
const UPSTASH_OF_THE_BUILD = { UPSTASH_REDIS_REST_URL: 'https://example.upstash.io', UPSTASH_REDIS_REST_TOKEN: 'none' };

const pick = (...paths: string[]): AppFiles => Object.fromEntries(paths.map((path) => [path, documented[path]!]));

beforeAll(installNext);

test('the page has all of these files', () => {
  expect(Object.keys(documented)).toEqual([
    ...[
      'lib/store.ts',
      'app/api/hello/route.ts',
      'proxy.ts',
      'app/actions.ts',
      'middleware.ts',
      'app/api/edge/route.ts',
      'app/api/memory/route.ts',
    ],
  ]);
});

interface Seen {
  readonly status: number;
  readonly limit: string | null;
  readonly policy: string | null;
  readonly retryAfter: string | null;
}

const seenIn = ({ status, headers }: Response): Seen => ({
  status,
  limit: headers.get('x-ratelimit-limit'),
  policy: headers.get('ratelimit-policy'),
  retryAfter: headers.get('retry-after'),
});

/** From a client of its own, so often. */
async function ask(
  app: RunningApp,
  path: string,
  client: string,
  times: number,
  init: RequestInit = {},
): Promise<Response[]> {
  const responses = [];
  for (let time = 0; time < times; time++) {
    responses.push(await fetch(app.url + path, { redirect: 'manual', ...init, headers: { 'x-real-ip': client } }));
  }
  return responses;
}

async function expectLimited(responses: Response[], capacity: number, policy: string): Promise<void> {
  const common = { limit: `${capacity}`, policy };
  const denied = { status: 429, ...common, retryAfter: expect.stringMatching(/^\d+$/) };
  expect(responses.map(seenIn)).toEqual([
    ...Array(capacity).fill({ status: 200, ...common, retryAfter: null }),
    ...Array(responses.length - capacity).fill(denied),
  ]);
  const body = await responses.at(-1)!.json();
  expect(body).toMatchObject({ status: 429, error: 'rate_limited', message: expect.stringContaining('Retry after') });
}

/** What Next prints when something is used that the edge does not have, and what Sluice warns of. */
const expectNoTrouble = (text: string): void => {
  expect(text).not.toMatch(/not supported in the Edge Runtime|A Node\.js API is used|SLUICE_/);
};

describe('on Node, with Redis', () => {
  let server: RunningServer;
  let app: NextApp;
  let running: RunningApp;
  beforeAll(async () => {
    const files = pick('lib/store.ts', 'app/api/hello/route.ts', 'proxy.ts', 'app/actions.ts');
    [server, app] = await Promise.all([
      startServer({ kind: 'redis' }),
      buildNextApp({
        ...files,
        'app/page.tsx': FORM,
        'app/slow-down/page.tsx': 'export default () => <p>Slow down</p>;\n',
      }),
    ]);
    running = await app.start({ REDIS_URL: server.url });
  });
  afterAll(async () => {
    await running?.stop();
    await app?.remove();
    await server?.stop();
  });

  test('a route handler, whose handler is typed with NextRequest', async () => {
    const responses = await ask(running, '/api/hello?name=ada', '203.0.113.1', 7);
    expect(await responses[0]!.clone().json()).toEqual({ hello: 'ada' });
    await expectLimited(responses, 5, '"hello";q=5;w=180');
    expect((await ask(running, '/api/hello', '203.0.113.2', 1))[0]!.status).toBe(200);
  });

  test('the limits are in Redis', async () => {
    const keys = (await server.command('KEYS', '*')) as string[];
    expect(keys.some((key) => key.includes('hello'))).toBe(true);
  });

  test('pages, by proxy.ts', async () => {
    await expectLimited(await ask(running, '/', '203.0.113.3', 10), 8, '"pages";q=8;w=288');
  });

  /** The form as a browser without JavaScript sends it. */
  const submit = async (client: string, times: number): Promise<Response[]> => {
    const [form] = await ask(running, '/', client, 1);
    const [, action] = /name="(\$ACTION_ID_\w+)"/.exec(await form!.text()) ?? [];
    const body = new FormData();
    body.set(action!, '');
    body.set('email', 'ada@example.org');
    return ask(running, '/', client, times, { method: 'POST', body });
  };

  test('a server action, by proxy.ts', async () => {
    const responses = await submit('203.0.113.4', 9);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, ...Array(5).fill(303), 429, 429]);
    expect(seenIn(responses.at(-1)!)).toEqual({
      status: 429,
      limit: '8',
      policy: '"pages";q=8;w=288',
      retryAfter: expect.stringMatching(/^\d+$/),
    });
  });

  test('a server action, by the limiter that it asks', async () => {
    const responses = await submit('203.0.113.5', 3);
    expect(responses.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [200, null],
      [200, null],
      [303, expect.stringMatching(/\/slow-down\?seconds=\d+$/)],
    ]);
    expect(running.printed().match(/subscribed ada@example\.org/g)).toHaveLength(4);
  });

  test('nothing is wrong', () => expectNoTrouble(app.built + running.printed()));
});

describe('at the edge, with Upstash and in memory', () => {
  let server: RunningServer;
  let front: RunningFront;
  let app: NextApp;
  let running: RunningApp;
  beforeAll(async () => {
    const files = pick('middleware.ts', 'app/api/edge/route.ts', 'app/api/memory/route.ts');
    [server, app] = await Promise.all([
      startServer({ kind: 'redis' }),
      buildNextApp({ ...files, 'app/page.tsx': 'export default () => <p>hello</p>;\n' }, UPSTASH_OF_THE_BUILD),
    ]);
    front = await startUpstashFront(server.url);
    running = await app.start({ UPSTASH_REDIS_REST_URL: front.url, UPSTASH_REDIS_REST_TOKEN: front.token });
  });
  afterAll(async () => {
    await running?.stop();
    await app?.remove();
    await front?.stop();
    await server?.stop();
  });

  test('pages, by middleware.ts', async () => {
    await expectLimited(await ask(running, '/', '203.0.113.1', 7), 5, '"pages";q=5;w=180');
    expect((await ask(running, '/', '203.0.113.2', 1))[0]!.status).toBe(200);
  });

  test('a route', async () => {
    const responses = await ask(running, '/api/edge', '203.0.113.3', 5);
    expect(await responses[0]!.clone().json()).toEqual({ path: '/api/edge' });
    await expectLimited(responses, 3, '"edge";q=3;w=108');
  });

  test('a route, by many at the same time', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => ask(running, '/api/edge', '203.0.113.5', 1)));
    const statuses = responses.flat().map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array(3).fill(200), ...Array(5).fill(429)]);
  });

  test('the limits are in Upstash', async () => {
    const keys = ((await server.command('KEYS', '*')) as string[]).join(' ');
    expect([keys.includes('edge'), keys.includes('pages'), keys.includes('memory')]).toEqual([true, true, false]);
  });

  test('a route without a store', async () => {
    await expectLimited(await ask(running, '/api/memory', '203.0.113.4', 5), 3, '"memory";q=3;w=108');
  });

  test('nothing is wrong', () => expectNoTrouble(app.built + running.printed()));
});
