/** Whatever a caller sends as a key or a policy: it reaches its own state on Redis, and nobody else's. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { Metrics } from '../src/service/metrics.ts';
import { openStore } from '../src/service/open-store.ts';
import { configOf, type RunningService, startService } from './support.ts';

const VICTIM = 'victim';
const PREFIX = 'sluice';

/** Ways to write somebody else's key, or Redis' own names and commands. */
const KEYS: readonly string[] = [
  ...['{victim}', 'victim}', '{victim', 'victim}:api', '{victim}:api', 'victim:api', ':victim', 'victim:', 'x}{victim'],
  ...[
    'sluice:{victim}2t:api',
    'victim}2t:api',
    'sluice:{victim}t:api',
    'victim}t:api',
    '{victim}t:api',
    'victim}t',
    'victim}b',
    '*',
    'victim*',
    'vict?m',
    '[v]ictim',
    '\\victim',
    'victim\\',
  ],
  ...[
    'victim\0',
    '\0victim',
    'victim ',
    ' victim',
    'victim\n',
    'VICTIM',
    'vıctim',
    'victim\u200b',
    'ｖictim',
    'victi\u006d\u0301',
  ],
  ...['%76ictim', 'victim%00', '%7Bvictim%7D', 'victim%7D%3Aapi', '__proto__', 'constructor', 'victim\r\nFLUSHALL\r\n'],
  ...[
    '*3\r\n$3\r\nDEL\r\n',
    '\ud800',
    '\udc00',
    '\ufffd',
    '{}',
    '{}victim',
    '}',
    '{',
    '{{victim}}',
    'header:x-api-key:victim',
  ],
];

/** Names for a policy of one's own that look like the state of a configured one. */
const NAMES: readonly string[] = [
  ...[
    'API',
    'api ',
    ' api',
    'api:',
    ':api',
    'api}',
    '{api',
    '{victim}:api',
    '}:api',
    'api:1',
    '1:api',
    '*',
    'a*',
    '\\api',
    'api\\',
  ],
  ...['constructor', '%61pi', 'fixed-window', 'token-bucket', 'b', 'block', 'api:block'],
];

/** What was spent stays for days, so that nothing changes by itself while the test looks. */
const CONFIG = `
policies:
  api: { algorithm: fixed-window, limit: 10, window: 30d, align: first }
  daily: { algorithm: gcra, limit: 10, period: 30d, capacity: 10 }
`;

let redis: RunningServer;
let service: RunningService;
beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
  const log = { info() {}, warn() {}, error() {} };
  const metrics = new Metrics();
  const store = await openStore({ redis: redis.url, prefix: PREFIX, deadline: '30s' }, metrics, log);
  service = await startService({ config: configOf(CONFIG), store, metrics });
  await service.post('/v1/attempt', { policy: 'api', key: VICTIM, cost: 3 });
  await service.post('/v1/attempt', { policy: 'daily', key: VICTIM, cost: 3 });
  before = await everyKey();
});
afterAll(async () => {
  await service.stop();
  await redis.stop();
});

/** Of every key on the server, its value. */
let before: ReadonlyMap<string, string>;
async function everyKey(): Promise<Map<string, string>> {
  const keys = ((await redis.command('KEYS', '*')) as string[]).sort();
  const values = await Promise.all(
    keys.map(async (key) => [key, JSON.stringify(await redis.command('DUMP', key))] as const),
  );
  return new Map(values);
}

async function expectVictimUntouched(): Promise<void> {
  const now = await everyKey();
  expect(before.size).toBeGreaterThan(1);
  for (const [key, value] of before) expect(now.get(key), key).toBe(value);
  for (const key of now.keys()) expect(key).toMatch(/^sluice:\{/);
}

const inline = (name: string) => ({ algorithm: 'fixed-window', name, limit: 10, window: '30d', align: 'first' });

test('every key has a state of its own, whatever it looks like', async () => {
  const names = [...before.keys()];
  // Also the very names that the victim's states have on Redis, whole and in parts.
  const strangers = [
    ...KEYS,
    ...names,
    ...names.flatMap((name) => [name.slice(PREFIX.length + 1), name.split('{')[1]!]),
  ];
  const keys = [...new Set([...strangers, VICTIM])];
  const sizeBefore = before.size;
  for (const key of keys) {
    const { body } = await service.post('/v1/attempt', { policy: inline('own'), key, cost: 4 });
    expect(body, JSON.stringify(key)).toMatchObject({ allowed: true, remaining: 6 });
  }
  expect((await everyKey()).size).toBe(sizeBefore + keys.length);
  for (const key of strangers) {
    await service.post('/v1/block', { policy: inline('own'), key, duration: '1h' });
    await service.post('/v1/unblock', { policy: inline('own'), key });
    await service.post('/v1/refund', { policy: inline('own'), key, cost: 4 });
    await service.post('/v1/reset', { policy: inline('own'), key });
    await service.post('/v1/reset', { policies: ['api', 'daily'], key });
    await service.post('/v1/refund', { policies: ['api', 'daily'], key, cost: 3 });
    await service.get(`/v1/check/api?${new URLSearchParams({ key, cost: '10' })}`);
  }
  expect((await service.post('/v1/peek', { policy: inline('own'), key: VICTIM })).body.remaining).toBe(6);
  await expectVictimUntouched();
});

test('a policy that comes along has a state of its own, whatever its name looks like', async () => {
  for (const name of NAMES) {
    const body = { policy: inline(name), key: VICTIM };
    const { status } = await service.post('/v1/attempt', { ...body, cost: 4 });
    // A name that cannot be one is refused; any other counts for itself.
    expect([200, 400], name).toContain(status);
    if (status === 400) continue;
    expect((await service.post('/v1/peek', body)).body.remaining, name).toBe(6);
    await service.post('/v1/refund', { ...body, cost: 4 });
    await service.post('/v1/block', { ...body, duration: '1h' });
    await service.post('/v1/unblock', body);
    await service.post('/v1/reset', body);
  }
  await expectVictimUntouched();
});

test('numbers of the caller never hold for a configured policy', async () => {
  for (const algorithm of ['fixed-window', 'sliding-window-counter', 'sliding-window-log']) {
    const policy = { ...inline('api'), algorithm, align: undefined };
    for (const verb of ['attempt', 'peek', 'refund', 'reset', 'unblock']) {
      const { status, body } = await service.post(`/v1/${verb}`, { policy, key: VICTIM });
      expect([status, body.path]).toEqual([400, 'policy.name']);
    }
  }
  await expectVictimUntouched();
});
