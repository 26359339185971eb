/** Code that runs when it is pasted: every combination is checked by the compiler, and each framework and each store is started and answers 429. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as library from 'sluice';
import { transformWithOxc } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { sluice } from '../../server/test/processes.ts';
import { type CodeChoice, FRAMEWORKS, KEYS, STORES } from '../src/code/choice.ts';
import { codeFiles } from '../src/code/code.ts';
import { tokensOf } from '../src/code/highlight.ts';
import { type Coded, policyCall, policyJson } from '../src/code/policy-code.ts';
import type { Draft } from '../src/model/kind.ts';
import { KINDS, kindOf } from '../src/model/kinds/index.ts';
import { INITIAL_LIMIT } from '../src/model/limit.ts';
import { problemOf, rowOf, tidied } from '../src/model/row.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const OTHER: Record<string, Draft> = {
  'fixed-window': { limit: '5', window: '250ms', align: 'first' },
  'token-bucket': { capacity: '3', refillRate: '100/m' },
  'leaky-bucket-policing': { capacity: '5', leakRate: '0.0375' },
  'leaky-bucket-shaping': { capacity: '5', leakRate: '7/d' },
  gcra: { limit: '60', period: '1h', capacity: '3' },
};
const ROWS = KINDS.flatMap((kind) => [
  rowOf(kind, INITIAL_LIMIT),
  ...(OTHER[kind.id] === undefined ? [] : [rowOf(kind, INITIAL_LIMIT, OTHER[kind.id])]),
]);

describe.each(ROWS.map((row) => ({ name: `${row.id} ${row.summary}`, row })))('$name', ({ row }) => {
  const { policy } = row.charges[0]!;

  test('is written as a call that makes that policy', () => {
    const make = new Function('sluice', `with (sluice) return ${policyCall(row)};`);
    expect(make(library)).toEqual(policy);
  });

  test('and as JSON that means it', () => {
    expect(library.checkPolicy(policyJson(row))).toEqual(policy);
  });
});

test.each<[string, Draft, string, string]>([
  ['token-bucket', { capacity: '20', refillRate: '100/m' }, "refillRate: '100/m'", '20 at once, 100/min back'],
  ['token-bucket', { capacity: '20', refillRate: '600/m' }, 'refillRate: 10', '20 at once, 10/s back'],
  ['token-bucket', { capacity: '20', refillRate: '0.123' }, 'refillRate: 0.123', '20 at once, 0.12/s back'],
  ['leaky-bucket-policing', { capacity: '5', leakRate: '7/h' }, "leakRate: '7/h'", 'holds 5, leaks 7/h'],
  ['leaky-bucket-shaping', { capacity: '5', leakRate: '0.0001' }, 'leakRate: 0.0001', '5 in line, 0.36/h'],
  ['fixed-window', { limit: '1000', window: '60s', align: 'epoch' }, "window: '1m'", '1,000 per minute'],
])('%s with %j is written as a person would', (id, draft, code, summary) => {
  const row = rowOf(kindOf(id)!, INITIAL_LIMIT, draft);
  expect(policyCall(row)).toContain(code);
  expect(row.summary).toBe(summary);
});

const CHOICES: readonly CodeChoice[] = FRAMEWORKS.flatMap((framework) =>
  STORES.flatMap((store) => KEYS.map((key) => ({ framework, store, key }))),
);
const serverOf = (coded: Coded, choice: CodeChoice, cost = 1): string =>
  codeFiles(coded, choice, cost).find(({ name }) => name === 'server.ts')!.text;
const nameOf = ({ framework, store, key }: CodeChoice): string => `${framework}-${store}-${key}`;

describe('as a program', () => {
  /** Inside the workspace, so that `sluice` and the frameworks resolve as they would for a user. */
  const folder = join(root, `.cache/lab-code-${process.pid}`);
  beforeAll(() => mkdirSync(folder, { recursive: true }));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const bucket = rowOf(kindOf('token-bucket')!, INITIAL_LIMIT, { capacity: '2', refillRate: '1/h' });
  const queue = rowOf(kindOf('leaky-bucket-shaping')!, INITIAL_LIMIT);

  test('every combination is one that the compiler takes', async () => {
    const programs = CHOICES.filter(({ framework }) => framework !== 'service');
    for (const choice of programs) {
      writeFileSync(join(folder, `${nameOf(choice)}.ts`), serverOf(bucket, choice));
      writeFileSync(join(folder, `${nameOf(choice)}-queue.ts`), serverOf(queue, choice, 3));
    }
    const options = {
      extends: join(root, 'tsconfig.base.json'),
      compilerOptions: { noEmit: true, rewriteRelativeImportExtensions: false },
      include: ['*.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
    const compiled = await promisify(execFile)('npx', ['tsc', '-p', join(folder, 'tsconfig.json')], {
      cwd: root,
    }).catch((error: { stdout: string }) => error);
    expect(compiled.stdout).toBe('');
    expect(programs).toHaveLength(96);
  });

  test('what has to be installed is all that is imported', () => {
    for (const choice of CHOICES.filter(({ framework }) => framework !== 'service')) {
      const [install, server] = codeFiles(bucket, choice);
      const imported = [...server!.text.matchAll(/^import (?:.* from )?'([^']+)';$/gm)].map(([, name]) => name!);
      const packages = imported
        .filter((name) => !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        );
      const installed = install!.text.trim().split(' ').slice(2);
      // Nest needs two beside those that are imported.
      const peers = choice.framework === 'nest' ? ['@nestjs/platform-express', 'rxjs'] : [];
      expect(new Set(installed), nameOf(choice)).toEqual(new Set([...packages, ...peers]));
    }
  });

  describe('that is started', () => {
    let redis: RunningServer;
    const children: ChildProcess[] = [];
    beforeAll(async () => {
      redis = await startServer({ kind: 'redis' });
    });
    afterAll(async () => {
      for (const child of children) child.kill('SIGKILL');
      await redis?.stop();
    });

    const RUN: readonly CodeChoice[] = [
      ...(['express', 'fastify', 'hono', 'koa', 'nest', 'node'] as const).map(
        (framework): CodeChoice => ({ framework, store: 'memory', key: 'ip' }),
      ),
      ...STORES.slice(1).map((store): CodeChoice => ({ framework: 'express', store, key: 'ip' })),
      { framework: 'express', store: 'memory', key: 'api-key' },
      { framework: 'fastify', store: 'memory', key: 'user' },
    ];

    test.each(RUN)(
      '$framework on $store by $key allows two requests and denies the third with a 429',
      async (choice) => {
        const port = await freePort();
        const file = join(folder, `run-${nameOf(choice)}.mjs`);
        const { code } = await transformWithOxc(serverOf(bucket, choice), 'server.ts', {
          decorator: { legacy: true, emitDecoratorMetadata: true },
        });
        writeFileSync(file, code);
        await redis.command('FLUSHALL');
        const child = spawn(process.execPath, [file], {
          env: { ...process.env, PORT: String(port), REDIS_URL: redis.url },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        children.push(child);
        let said = '';
        child.stderr!.on('data', (chunk) => {
          said += chunk;
        });
        const headers = { 'x-api-key': 'abc', cookie: 'session=abc' };
        const ask = () => fetch(`http://127.0.0.1:${port}/`, { headers });
        await expect
          .poll(
            () =>
              ask().then(
                () => 'there',
                () => said,
              ),
            { timeout: 60_000 },
          )
          .toBe('there');
        const responses = [await ask(), await ask()];
        // One was spent to see whether it is there.
        expect([responses[0]!.status, await responses[0]!.json()]).toEqual([200, { ok: true }]);
        expect(responses[1]!.status).toBe(429);
        expect(Number(responses[1]!.headers.get('retry-after'))).toBeGreaterThan(0);
        child.kill('SIGTERM');
      },
    );

    test('a handler for Bun, Deno and workers answers 429 as well', async () => {
      const file = join(folder, 'run-fetch.mjs');
      const choice: CodeChoice = { framework: 'fetch', store: 'memory', key: 'ip' };
      writeFileSync(file, (await transformWithOxc(serverOf(bucket, choice), 'server.ts')).code);
      const { handler } = await import(file);
      const server = { requestIP: () => ({ address: '203.0.113.7' }) };
      const ask = async (): Promise<number> => (await handler(new Request('http://localhost/'), server)).status;
      expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    });

    test.each(STORES)('without a framework on %s it says so', async (store) => {
      const file = join(folder, `run-library-${store}.mjs`);
      const choice: CodeChoice = { framework: 'library', store, key: 'user' };
      const once = serverOf(bucket, choice).replace(
        'const { allowed',
        "for (let time = 0; time < 2; time += 1) await limiter.attempt('user:42');\nconst { allowed",
      );
      writeFileSync(file, `${(await transformWithOxc(once, 'server.ts')).code}\nprocess.exit(0);\n`);
      await redis.command('FLUSHALL');
      const { stdout } = await promisify(execFile)(process.execPath, [file], {
        env: { ...process.env, REDIS_URL: redis.url },
      });
      expect(stdout).toMatch(/^429 Too Many Requests, Retry-After: \d+$/m);
    });
  });

  test('as a service every row is a config that `sluice check` takes', async () => {
    const configs = mkdtempSync(join(tmpdir(), 'sluice-code-'));
    try {
      for (const [index, row] of ROWS.entries()) {
        for (const key of KEYS) {
          const [yaml, commands] = codeFiles(row, { framework: 'service', store: 'ioredis', key });
          writeFileSync(join(configs, `${index}.yaml`), yaml!.text);
          expect(commands!.text).toContain('--redis redis://localhost:6379');
          expect(await sluice('check', join(configs, `${index}.yaml`))).toMatchObject({ code: 0 });
          if (index > 1) break;
        }
      }
    } finally {
      rmSync(configs, { recursive: true });
    }
  });

  test('colours change no letter of it', () => {
    for (const choice of CHOICES) {
      for (const file of codeFiles(queue, choice)) {
        expect(
          tokensOf(file)
            .map(({ text }) => text)
            .join(''),
        ).toBe(file.text);
        expect(new Set(tokensOf(file).map(({ kind }) => kind)).size).toBeGreaterThan(1);
      }
    }
  });

  test('no line is wider than what can be read beside the rows', () => {
    for (const choice of CHOICES.filter(({ framework }) => framework !== 'service')) {
      const widest = Math.max(
        ...serverOf(bucket, choice)
          .split('\n')
          .map((line) => line.length),
      );
      expect(widest, nameOf(choice)).toBeLessThanOrEqual(100);
    }
  });
});

const COUNT = 'Write a whole number from 1 to 1,000,000,000.';
const TIME = 'Write a time such as 10 s, 250 ms, 1 min or 1 h.';
const RATE = 'Write units a second such as 2 or 0.5, or a rate such as 100/min or 1000/h.';

test.each<[string, Draft, string, string]>([
  ['fixed-window', { limit: '', window: '10s', align: 'epoch' }, 'limit', COUNT],
  ['fixed-window', { limit: '1.5', window: '10s', align: 'epoch' }, 'limit', COUNT],
  ['sliding-window-log', { limit: '10', window: 'soon' }, 'window', TIME],
  ['sliding-window-log', { limit: '10', window: '0' }, 'window', TIME],
  ['token-bucket', { capacity: '10', refillRate: '0' }, 'refillRate', RATE],
  ['token-bucket', { capacity: '10', refillRate: 'fast' }, 'refillRate', RATE],
  ['gcra', { limit: '10', period: '10s', capacity: '-3' }, 'capacity', COUNT],
])('%s refuses %j at %s with a sentence', (id, draft, field, message) => {
  expect(problemOf(kindOf(id)!, draft)).toEqual({ field, message });
});

test.each<[string, string, object]>([
  ['10', '10s', { window: 10_000 }],
  ['10 s', '10s', { window: 10_000 }],
  ['10sec', '10s', { window: 10_000 }],
  ['1.5 minutes', '1.5m', { window: 90_000 }],
  ['250 MS', '250ms', { window: 250 }],
])('a window of %j is %s', (window, tidy, numbers) => {
  const kind = kindOf('sliding-window-log')!;
  const draft = { limit: '1,000', window };
  expect(rowOf(kind, INITIAL_LIMIT, draft).numbers).toMatchObject({ limit: 1_000, ...numbers });
  expect(tidied(kind, draft)).toEqual({ limit: '1000', window: tidy });
});

test.each<[string, string, number]>([
  ['2', '2', 2],
  ['100/min', '100/m', 100 / 60],
  ['100 per minute', '100/m', 100 / 60],
  ['1 a second', '1/s', 1],
  ['0.5', '0.5', 0.5],
])('a rate of %j is %s', (refillRate, tidy, perSecond) => {
  const kind = kindOf('token-bucket')!;
  const draft = { capacity: '10', refillRate };
  expect(rowOf(kind, INITIAL_LIMIT, draft).numbers).toMatchObject({ refillRate: expect.closeTo(perSecond, 12) });
  expect(tidied(kind, draft)).toEqual({ capacity: '10', refillRate: tidy });
});
