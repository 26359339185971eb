/** What a recorder writes `backtest` reads: from `sluice serve --record`, and from a limiter in a program. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimiter, fixedWindow, memoryStore, slidingWindowLog } from 'sluice';
import { layered } from 'sluice/layers';
import { afterAll, expect, test } from 'vitest';
import { backtest } from '../../src/log-files/backtest.ts';
import { recorder } from '../../src/log-files/recorder.ts';
import { serve } from '../processes.ts';
import { run } from '../run.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-record-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('sluice serve --record: every attempt, none of what only looks, read by backtest', async () => {
  const config = join(folder, 'policies.yaml');
  writeFileSync(
    config,
    'policies:\n  api: { algorithm: fixed-window, limit: 5, window: 1d }\n  other: { algorithm: fixed-window, limit: 5, window: 1d }\n',
  );
  const file = join(folder, 'served.jsonl');
  const server = await serve(['--config', config, '--record', file]);
  const ask = (path: string, body: object) =>
    fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  for (let index = 0; index < 8; index += 1) await ask('/v1/attempt', { policy: 'api', key: 'user:1' });
  await ask('/v1/attempt', { policy: 'api', key: 'user,2', cost: 3 });
  await ask('/v1/attempt', { policy: 'other', key: 'user:1' });
  await ask('/v1/peek', { policy: 'api', key: 'user:1' });
  await server.stop();
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(10);
  expect(lines[8]).toEqual({ time: expect.stringMatching(/^\d{4}-.*Z$/), policy: 'api', key: 'user,2', cost: 3 });
  const args = ['--where', 'policy=api', '--cost', 'cost', '--policy', 'fixed-window limit=5 window=1d', '--json'];
  const report = JSON.parse((await run(['backtest', file, ...args])).out);
  expect(report.logs[0].format).toBe('a recording of Sluice');
  expect([report.requests, report.clients, report.lines.skipped]).toEqual([9, 2, 1]);
  expect(report.policies[0]).toMatchObject({ denied: 3, mostDenied: [{ key: 'user:1', requests: 8, denied: 3 }] });
});

test('a limiter in a program: what the recording is tried with is what happened', async () => {
  const file = join(folder, 'program.jsonl');
  const record = recorder({ file, keys: 'hash' });
  const policy = slidingWindowLog({ limit: 3, window: '1d' });
  const limiter = createLimiter({ policy, store: layered(memoryStore(), record.layer) });
  let denied = 0;
  for (let index = 0; index < 40; index += 1) if (!(await limiter.attempt(`client-${index % 7}`)).allowed) denied += 1;
  await limiter.peek('client-1');
  await record.close();
  expect(readFileSync(file, 'utf8')).not.toContain('client-');
  const { policies, requests, clients } = await backtest([file], { policies: [policy] });
  expect([requests, clients, policies[0]!.denied]).toEqual([40, 7, denied]);
});

test('files are bounded in size and number, and the newest lines are kept', async () => {
  const file = join(folder, 'bounded.jsonl');
  const limiterOf = (store: ReturnType<typeof memoryStore>) =>
    createLimiter({ policy: fixedWindow({ limit: 1e6, window: '1d' }), store });
  for (let round = 0; round < 12; round += 1) {
    const record = recorder({ file, maxBytes: 1000, maxFiles: 2 });
    const limiter = limiterOf(layered(memoryStore(), record.layer) as ReturnType<typeof memoryStore>);
    for (let index = 0; index < 5; index += 1) await limiter.attempt(`round-${round}`);
    await record.close();
  }
  const files = readdirSync(folder).filter((name) => name.startsWith('bounded'));
  expect(files.sort()).toEqual(['bounded.jsonl', 'bounded.jsonl.1', 'bounded.jsonl.2']);
  for (const name of files) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(1000);
  expect(readFileSync(file, 'utf8')).toContain('round-11');
  const { requests } = await backtest(
    files.map((name) => join(folder, name)),
    { policies: [] },
  );
  expect(requests).toBeGreaterThanOrEqual(10);
});

test('a disk that takes nothing fails no attempt, and is said once', async () => {
  const problems: string[] = [];
  const record = recorder({
    file: join(folder, 'no', 'such', 'folder.jsonl'),
    onProblem: (message) => problems.push(message),
  });
  const limiter = createLimiter({
    policy: fixedWindow({ limit: 10, window: '1d' }),
    store: layered(memoryStore(), record.layer),
  });
  for (let index = 0; index < 4; index += 1) expect((await limiter.attempt('a')).allowed).toBe(true);
  await record.close();
  expect([problems.length, record.lost]).toEqual([1, 4]);
  expect(problems[0]).toMatch(/^recording to .*folder.jsonl fails: ENOENT/);
  expect(existsSync(join(folder, 'no'))).toBe(false);
});

test.each([
  [['serve', '--record-size', '5'], '--record-size: expected --record FILE as well'],
  [['serve', '--record', 'x', '--record-keys', 'none'], '--record-keys: expected plain or hash'],
])('%j', async (args, message) => {
  expect(await run(args)).toMatchObject({ code: 2, error: expect.stringContaining(message) });
});
