/** The tour as a visitor runs it: a process of its own, on what `npm run build` made. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RunningServer, startServer } from '../../tools/servers/index.ts';

interface Answer {
  at: number;
  outcome: 'allowed' | 'denied' | 'delayed';
  remaining: number;
  retryAfter: number | null;
  resetAfter: number;
  delay: number | null;
  proceedsAt: number | null;
}

interface TourData {
  store: string;
  requests: number;
  algorithms: {
    name: string;
    policy: { algorithm: string };
    summary: { allowed: number; denied: number; delayed: number; mostInOneSecond: number };
    answers: Answer[];
  }[];
}

const NAMES = [
  'fixed window',
  'sliding log',
  'sliding counter',
  'token bucket',
  'leaky, policing',
  'GCRA',
  'leaky, shaping',
];

describe('in memory', () => {
  let data: TourData;
  beforeAll(async () => {
    data = await tourData();
  });

  test('asks all seven algorithms about the same 30 requests', () => {
    expect(data.store).toBe('memory');
    expect(data.algorithms.map(({ name }) => name)).toEqual(NAMES);
    const moments = algorithm(data, 'fixed window').answers.map(({ at }) => at);
    expect(moments).toHaveLength(30);
    for (const { answers, summary } of data.algorithms) {
      expect(answers.map(({ at }) => at)).toEqual(moments);
      expect(summary.allowed + summary.denied + summary.delayed).toBe(30);
    }
  });

  test('the fixed window lets twice its limit pass around an edge', () => {
    const { answers, summary } = algorithm(data, 'fixed window');
    expect(summary.mostInOneSecond).toBe(10);
    expect(answers.filter(({ at, outcome }) => outcome === 'allowed' && Math.abs(at - 1) < 0.5)).toHaveLength(10);
  });

  test('the sliding log never lets more than its limit pass in a second', () => {
    const { answers, summary } = algorithm(data, 'sliding log');
    expect(summary.mostInOneSecond).toBe(5);
    const admitted = answers.filter(({ outcome }) => outcome === 'allowed').map(({ at }) => at);
    for (const start of admitted) {
      expect(admitted.filter((at) => at >= start && at < start + 1).length).toBeLessThanOrEqual(5);
    }
  });

  test('token bucket, leaky bucket and GCRA are one algorithm in three notations, as the tour says', () => {
    const { answers } = algorithm(data, 'token bucket');
    expect(algorithm(data, 'leaky, policing').answers).toEqual(answers);
    expect(algorithm(data, 'GCRA').answers).toEqual(answers);
  });

  test('shaping delays, and lets go evenly', () => {
    const { answers, summary } = algorithm(data, 'leaky, shaping');
    expect(summary.delayed).toBeGreaterThan(10);
    expect(summary.mostInOneSecond).toBe(5);
    const starts = answers.flatMap(({ proceedsAt }) => proceedsAt ?? []);
    const gaps = starts.slice(1).map((start, index) => start - starts[index]!);
    expect(Math.min(...gaps)).toBeCloseTo(0.2, 6);
  });

  test('only a denial has a retryAfter, and only a delay a delay', () => {
    for (const { outcome, retryAfter, delay } of data.algorithms.flatMap(({ answers }) => answers)) {
      expect(retryAfter !== null && retryAfter > 0).toBe(outcome === 'denied');
      expect(delay !== null && delay > 0).toBe(outcome === 'delayed');
    }
  });

  test('fits 80 columns, and needs no colours', async () => {
    const { stdout } = await runTour();
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).not.toContain('\u001b');
    for (const name of NAMES) expect(lines.some((line) => line.startsWith(name) && /[●×◔]/.test(line))).toBe(true);
  });

  test('draws every request in every lane', async () => {
    const { stdout } = await runTour();
    const lanes = stdout.split('\n').filter((line) => NAMES.some((name) => line.startsWith(name)));
    expect(lanes.map((lane) => lane.match(/[●×◔]/g)?.length)).toEqual(NAMES.map(() => 30));
  });
});

describe('on Redis', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ kind: 'redis' });
    await server.command('ACL', 'SETUSER', 'visitor', 'on', '>secret', '~*', '+@all');
  });
  afterAll(() => server.stop());
  const urlWith = (password: string) => `redis://visitor:${password}@${server.host}:${server.port}`;

  test('gives the answers of the memory store, to the last digit', async () => {
    const [memory, redis] = await Promise.all([tourData(), tourData({ REDIS_URL: server.url })]);
    expect(redis.store).toBe('redis');
    expect({ ...redis, store: 'memory' }).toEqual(memory);
  });

  test('leaves no key behind, and those of others alone', async () => {
    await server.command('SET', 'yours', '1');
    await tourData({ REDIS_URL: server.url });
    expect(await server.command('KEYS', '*')).toEqual(['yours']);
  });

  test('says where it runs but not the password', async () => {
    const { stdout, code } = await runTour([], { REDIS_URL: urlWith('secret') });
    expect(code).toBe(0);
    expect(stdout).toContain(`Redis at ${server.host}:${server.port}`);
    expect(stdout).not.toContain('secret');
  });

  test('a wrong password is one line that does not repeat it', async () => {
    expectOneLine(await runTour([], { REDIS_URL: urlWith('mistaken') }), { code: 1, without: 'mistaken' });
  });
});

describe('on a Redis that cannot be reached', () => {
  let silent: Server;
  beforeAll(async () => {
    silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  afterAll(() => {
    silent.close();
  });

  test('nobody listens: one line, exit code 1', async () => {
    const result = await runTour([], { REDIS_URL: `redis://:secret@127.0.0.1:${await closedPort()}` });
    expectOneLine(result, { code: 1, without: 'secret' });
    expect(result.stderr).toMatch(/^Cannot reach Redis at 127\.0\.0\.1:\d+/);
  });

  test('it accepts and then says nothing: given up after 3 s', async () => {
    const start = performance.now();
    const result = await runTour([], { REDIS_URL: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}` });
    expectOneLine(result, { code: 1 });
    expect(result.stderr).toContain('within 3 s');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test.each(['nonsense', 'http://localhost', 'redis://:secret@:::'])('%s is no Redis URL', async (REDIS_URL) => {
    const result = await runTour([], { REDIS_URL });
    expectOneLine(result, { code: 1, without: 'secret' });
    expect(result.stderr).toContain('REDIS_URL');
  });
});

describe('arguments', () => {
  test('--help explains the tour', async () => {
    const { code, stdout } = await runTour(['--help']);
    expect(code).toBe(0);
    for (const word of ['--json', 'REDIS_URL', 'NO_COLOR', 'npm run tour']) expect(stdout).toContain(word);
  });

  test.each(['--jsn', '--json=yes', 'redis'])('%s is unknown: one line, exit code 2', async (argument) => {
    const result = await runTour([argument]);
    expectOneLine(result, { code: 2 });
    expect(result.stderr).toContain(`'${argument}'`);
  });
});

test('the code of "your turn" runs', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import('./your-turn.ts');
  expect(log).toHaveBeenCalledExactlyOnceWith('4 left');
  log.mockRestore();
});

interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Without the caller's own REDIS_URL, whatever it is. */
function runTour(args: string[] = [], env: Record<string, string> = {}): Promise<Finished> {
  const script = fileURLToPath(new URL('tour.mjs', import.meta.url));
  const { REDIS_URL: _, ...inherited } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { env: { ...inherited, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function tourData(env: Record<string, string> = {}): Promise<TourData> {
  const { stdout, stderr, code } = await runTour(['--json'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

function algorithm(data: TourData, name: string): TourData['algorithms'][number] {
  return data.algorithms.find((candidate) => candidate.name === name)!;
}

function expectOneLine({ code, stdout, stderr }: Finished, expected: { code: number; without?: string }): void {
  expect({ code, stdout }).toEqual({ code: expected.code, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  if (expected.without !== undefined) expect(stderr).not.toContain(expected.without);
}

/** One that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
