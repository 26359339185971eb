/** The engines the lab's page plays on: memory, and a real Redis with its raw state and the commands that an attempt takes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startCluster, startServer } from '../../../tools/servers/index.ts';
import { type Lab, openLab } from '../src/lab/lab.ts';
import { jsonLog } from '../src/service/log.ts';
import { type RunningService, startService } from './support.ts';

let redis: RunningServer;
let lab: Lab;
let running: RunningService;
beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
  lab = await openLab(
    { redis: redis.url, prefix: 'mine' },
    jsonLog(() => {}),
  );
  running = await startService({ beside: lab });
});
afterAll(async () => {
  await running.stop();
  lab.close();
  await redis.stop();
});

const POLICIES = {
  fixed: { algorithm: 'fixed-window', limit: 3, window: '1h' },
  log: { algorithm: 'sliding-window-log', limit: 3, window: '1h' },
  counter: { algorithm: 'sliding-window-counter', limit: 3, window: '1h' },
  tokens: { algorithm: 'token-bucket', capacity: 3, refillRate: 0.001 },
  policing: { algorithm: 'leaky-bucket', capacity: 3, leakRate: 0.001 },
  shaping: { algorithm: 'leaky-bucket', capacity: 3, leakRate: 0.001, mode: 'shaping' },
  gcra: { algorithm: 'gcra', limit: 3, period: '1h' },
} as const;
type Card = keyof typeof POLICIES;
const CARDS = Object.keys(POLICIES) as Card[];

function player(engine: string) {
  let cookie = '';
  const post = async (path: string, body: unknown) => {
    const reply = await running.post(path, body, cookie === '' ? {} : { cookie });
    cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    return reply;
  };
  return {
    id: () => cookie.split('=')[1]!,
    post,
    attempt: (cards: readonly Card[], more: object = {}) => {
      const attempts = cards.map((card) => ({ card, policy: POLICIES[card], ...more }));
      return post('/api/lab/attempt', { engine, attempts });
    },
  };
}

describe.each(['memory', 'redis'])('on %s', (engine) => {
  test('every card allows its three, in order, and denies the fourth', async () => {
    const { attempt } = player(engine);
    const { status, body } = await attempt(CARDS.flatMap((card) => [card, card, card, card]));
    expect(status).toBe(200);
    CARDS.forEach((card, index) => {
      const results = body.results.slice(index * 4, index * 4 + 4);
      expect(
        results.map(({ allowed, remaining }: never) => [allowed, remaining]),
        card,
      ).toEqual([
        ...[
          [true, 2],
          [true, 1],
          [true, 0],
        ],
        [false, 0],
      ]);
      expect(results[3].policy).toBe(card);
    });
    for (const list of [body.raw, body.commands, body.commandNames]) expect(list).toHaveLength(CARDS.length * 4);
  });

  test("cards, keys, sessions and engines are apart; cost 0 looks; a reset clears what is one's own", async () => {
    const [ann, bob] = [player(engine), player(engine)];
    const other = engine === 'memory' ? 'redis' : 'memory';
    const remaining = async (who: typeof ann, more: object = {}) =>
      (await who.attempt(['gcra'], { cost: 0, ...more })).body.results[0].remaining;
    await ann.attempt(['gcra'], { key: 'polite', cost: 1 });
    await ann.attempt(['gcra'], { key: 'greedy', cost: 3 });
    await bob.attempt(['gcra'], { key: 'polite', cost: 2 });
    expect(await remaining(ann, { key: 'polite' })).toBe(2);
    expect(await remaining(ann, { key: 'greedy' })).toBe(0);
    expect(await remaining(ann, { card: 'another', key: 'greedy' })).toBe(3);
    const elsewhere = [{ card: 'gcra', policy: POLICIES.gcra, key: 'greedy', cost: 0 }];
    const { body } = await ann.post('/api/lab/attempt', { engine: other, attempts: elsewhere });
    expect(body.results[0].remaining).toBe(3);
    expect((await ann.post('/api/lab/reset', '')).body).toEqual({ reset: true });
    expect(await remaining(ann, { key: 'greedy' })).toBe(3);
    expect(await remaining(bob, { key: 'polite' })).toBe(1);
  });

  test('a session has so many states at most, and after a reset as many again', async () => {
    const { post } = player(engine);
    const attempts = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ card: 'a', key: `k${from + index}`, policy: POLICIES.gcra }));
    expect((await post('/api/lab/attempt', { engine, attempts: attempts(0, 128) })).status).toBe(200);
    const refused = await post('/api/lab/attempt', { engine, attempts: attempts(128, 1) });
    expect([refused.status, refused.body.error, refused.body.path]).toEqual([400, 'too_many_states', 'attempts']);
    expect((await post('/api/lab/attempt', { engine, attempts: attempts(127, 1) })).status).toBe(200);
    await post('/api/lab/reset', '');
    expect((await post('/api/lab/attempt', { engine, attempts: attempts(128, 128) })).status).toBe(200);
    await post('/api/lab/reset', '');
  });
});

test('the raw state in memory is what a look says, and no command is counted', async () => {
  const { body } = await player('memory').attempt(['log', 'gcra', 'gcra'], { cost: 1 });
  expect(body.commands).toEqual([0, 0, 0]);
  expect(body.raw[0]).toMatchObject({ type: 'a list of admissions', ttlMs: 3_600_000, memoryBytes: null });
  expect(body.raw[0].value).toMatch(/^\d{10}\.\d{6}$/);
  expect(body.raw[2].reading).toMatch(/^1 left, resets in (2400|239\d\.\d+) s$/);
});

describe('the raw state on Redis', () => {
  /** What each card's state is after two attempts. */
  const READINGS: Readonly<Record<Card, RegExp>> = {
    fixed: /^window start [\d:.]+ UTC, count 2$/,
    log: /^2 units in (1 entry|2 entries), newest [\d:.]+ UTC$/,
    counter: /^window start [\d:.]+ UTC, current 2, previous 0$/,
    tokens: /^spent (2|1\.9+\d*), at [\d:.]+ UTC$/,
    policing: /^level (2|1\.9+\d*), at [\d:.]+ UTC$/,
    shaping: /^next free [\d:.]+ UTC$/,
    gcra: /^theoretical arrival [\d:.]+ UTC$/,
  };

  test.each(CARDS)('of the card %s is what Redis has', async (card) => {
    const ann = player('redis');
    const { body } = await ann.attempt([card, card]);
    const raw = body.raw[1];
    expect(raw.reading).toMatch(READINGS[card]);
    expect(raw.key).toMatch(new RegExp(`^mine-lab:\\{${ann.id()}:everyone\\}2\\w(:${card})?$`));
    const [type, pttl, usage] = await Promise.all([
      redis.command('TYPE', raw.key),
      redis.command('PTTL', raw.key),
      redis.command('MEMORY', 'USAGE', raw.key),
    ]);
    expect([raw.type, raw.memoryBytes]).toEqual([type, usage]);
    expect(raw.ttlMs).toBeGreaterThanOrEqual(Number(pttl));
    if (/^\d+$/.test(raw.value)) expect(raw.value).toBe(await redis.command('GET', raw.key));
    else expect(raw.value).toContain('\\x');
  });

  test('a log tells how many units it holds, also when many of them share an entry', async () => {
    const policy = { ...POLICIES.log, limit: 10 };
    const { body } = await player('redis').post('/api/lab/attempt', {
      engine: 'redis',
      attempts: [{ card: 'log', policy, cost: 10 }],
    });
    expect(body.raw[0].reading).toMatch(/^10 units in 1 entry, newest [\d:.]+ UTC$/);
  });

  test('commands are those of this attempt, whoever else is busy', async () => {
    const { attempt } = player('redis');
    await attempt(['gcra']);
    const callsOf = async () => {
      const stats = String(await redis.command('INFO', 'commandstats'));
      return ['evalsha', 'exec'].map((name) =>
        Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0),
      );
    };
    const before = await callsOf();
    let isOver = false;
    const busy = (async () => {
      while (!isOver) await redis.command('SET', 'other', 'x');
    })();
    const replies = [];
    for (let round = 0; round < 20; round += 1) replies.push((await attempt(['gcra'], { cost: 1 })).body);
    isOver = true;
    await busy;
    const [allowed, denied] = [replies[0].commandNames[0], replies[19].commandNames[0]];
    const writes = (commands: object) =>
      Object.keys(commands).filter((name) => !['evalsha', 'time', 'get'].includes(name));
    expect([allowed.evalsha, allowed.get, denied.evalsha, denied.get]).toEqual([1, 1, 1, 1]);
    expect(writes(allowed).length).toBeGreaterThan(0);
    expect(writes(denied)).toEqual([]);
    for (const reply of replies.slice(2)) expect(reply.commandNames).toEqual([denied]);
    expect(replies[0].commands[0]).toBe(Object.values<number>(allowed).reduce((sum, calls) => sum + calls));
    // One script call each, and each in a transaction: that is what keeps the others out.
    expect((await callsOf()).map((calls, index) => calls - before[index]!)).toEqual([20, 20]);
  });

  test('of many attempts on one state, the last is looked at', async () => {
    const { body } = await player('redis').attempt(['gcra', 'fixed', 'gcra', 'gcra']);
    expect(body.results.map(({ remaining }: { remaining: number }) => remaining)).toEqual([2, 2, 1, 0]);
    const looked = [false, true, false, true];
    expect(body.raw.map((raw: unknown) => raw !== null)).toEqual(looked);
    expect(body.commands.map((calls: unknown) => calls !== null)).toEqual(looked);
    expect(body.commandNames.map((calls: unknown) => calls !== null)).toEqual(looked);
  });

  test('scripts that the server has forgotten are sent again, and nothing is spent twice', async () => {
    const { attempt } = player('redis');
    await attempt(['tokens']);
    await redis.command('SCRIPT', 'FLUSH');
    const { body } = await attempt(['tokens']);
    expect(body.results[0]).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('a demo session has its state on Redis too, under the prefix of the lab', async () => {
    const { id, post } = player('redis');
    const { body } = await post('/api/rate-limit/fixed-window/burst', { count: 11, config: { windowSeconds: 3600 } });
    expect(body.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([...Array(10).fill(true), false]);
    expect(await redis.command('EXISTS', `mine-lab:{demo:${id()}}2f:fixed-window`)).toBe(1);
    await post('/api/rate-limit/reset', '');
    expect(await redis.command('EXISTS', `mine-lab:{demo:${id()}}2f:fixed-window`)).toBe(0);
  });
});

test('says which engines there are, and why one is not', async () => {
  expect((await running.get('/api/lab/engines')).body).toEqual({
    engines: [
      { name: 'memory', available: true, description: 'the memory of the server' },
      { name: 'redis', available: true, description: `redis://127.0.0.1:${redis.port}` },
    ],
  });
  const alone = await startService({
    beside: await openLab(
      {},
      jsonLog(() => {}),
    ),
  });
  const { body } = await alone.get('/api/lab/engines');
  expect(body.engines[1]).toEqual({
    ...{ name: 'redis', available: false, description: 'the server was started without --redis' },
  });
  const attempts = [{ card: 'a', policy: POLICIES.gcra }];
  const refused = await alone.post('/api/lab/attempt', { engine: 'redis', attempts });
  expect([refused.status, refused.body.path]).toEqual([400, 'engine']);
  expect(refused.body.message).toBe('engine: expected memory, got redis: the server was started without --redis');
  await alone.stop();
});

test('a Redis that is away is a 503 for the engine, while the demo goes on in memory', async () => {
  const away = await startServer({ kind: 'redis' });
  const there = await openLab(
    { redis: away.url },
    jsonLog(() => {}),
  );
  const service = await startService({ beside: there });
  await away.stop();
  const attempts = [{ card: 'a', policy: POLICIES.gcra }];
  expect((await service.post('/api/lab/attempt', { engine: 'redis', attempts })).status).toBe(503);
  expect((await service.post('/api/rate-limit/gcra', '')).body).toMatchObject({ allowed: true, remaining: 9 });
  await service.stop();
  there.close();
});

test('a Redis that hangs is a 503 with a sentence, not a request that never ends', async () => {
  const hung = await startServer({ kind: 'redis' });
  const there = await openLab(
    { redis: hung.url, patienceMs: 200 },
    jsonLog(() => {}),
  );
  const service = await startService({ beside: there });
  process.kill(hung.pid, 'SIGSTOP');
  const attempts = [{ card: 'a', policy: POLICIES.gcra }];
  const { status, body } = await service.post('/api/lab/attempt', { engine: 'redis', attempts });
  expect([status, body.error]).toEqual([503, 'store_unavailable']);
  process.kill(hung.pid, 'SIGCONT');
  await service.stop();
  there.close();
  await hung.stop();
});

test('on a cluster the demo plays as well, but nobody looks into it', async () => {
  const cluster = await startCluster({ kind: 'redis' });
  const nodes = cluster.startupNodes.map(({ host, port }) => `${host}:${port}`).join(',');
  const there = await openLab(
    { redis: `redis+cluster://${nodes}` },
    jsonLog(() => {}),
  );
  const service = await startService({ beside: there });
  const { body } = await service.get('/api/lab/engines');
  expect(body.engines[1]).toMatchObject({ name: 'redis', available: false });
  const { body: results } = await service.post('/api/rate-limit/token-bucket/burst', { count: 12 });
  expect(results.filter(({ allowed }: { allowed: boolean }) => allowed)).toHaveLength(10);
  const keys = await Promise.all(cluster.nodes.map((node) => node.command('KEYS', 'sluice-lab:*')));
  expect(new Set(keys.flat()).size).toBe(1);
  await service.stop();
  there.close();
  await cluster.stop();
});

describe('what is refused', () => {
  const good = { card: 'a', policy: POLICIES.gcra };
  const one = (more: object) => ({ engine: 'memory', attempts: [good, { ...good, ...more }] });
  const BAD: readonly (readonly [body: unknown, field: string | undefined])[] = [
    ['', undefined],
    [[], 'body'],
    [{ engine: 'disk', attempts: [good] }, 'engine'],
    [{ attempts: [good] }, 'engine'],
    [{ engine: '__proto__', attempts: [good] }, 'engine'],
    [{ engine: 'memory' }, 'attempts'],
    [{ engine: 'memory', attempts: [] }, 'attempts'],
    [{ engine: 'memory', attempts: Array(513).fill(good) }, 'attempts'],
    [{ engine: 'memory', attempts: [5] }, 'attempts[0]'],
    [{ engine: 'memory', attempts: [good], more: 1 }, 'more'],
    [one({ card: '' }), 'attempts[1].card'],
    [one({ card: 'x'.repeat(65) }), 'attempts[1].card'],
    [one({ card: 'a{b}' }), 'attempts[1].card'],
    [one({ key: 5 }), 'attempts[1].key'],
    [one({ key: 'x'.repeat(65) }), 'attempts[1].key'],
    [one({ cost: -1 }), 'attempts[1].cost'],
    [one({ policy: 'api' }), 'attempts[1].policy'],
    [one({ policy: { algorithm: 'nope' } }), 'attempts[1].policy.algorithm'],
    [one({ policy: { algorithm: 'gcra', limit: 0, period: 1 } }), 'attempts[1].policy.limit'],
    [one({ policy: { algorithm: 'sliding-window-log', limit: 10_001, window: 1 } }), 'attempts[1].policy.limit'],
    [one({ policy: { algorithm: 'fixed-window', limit: 1, window: '2d' } }), 'attempts[1].policy'],
    [one({ policy: { algorithm: 'token-bucket', capacity: 1e6, refillRate: 1 } }), 'attempts[1].policy'],
  ];

  test.each(BAD.map(([body, field], row) => ({ row, body, field })))(
    'row $row names $field',
    async ({ body, field }) => {
      const reply = await running.post('/api/lab/attempt', body);
      expect([reply.status, reply.body.path]).toEqual([400, field]);
    },
  );
});
