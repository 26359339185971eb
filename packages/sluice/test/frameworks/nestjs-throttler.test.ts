/** The storage beneath @nestjs/throttler: alone on a manual clock, and in an app with its guard. */
import 'reflect-metadata';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { afterEach, describe, expect, test } from 'vitest';
import { throttlerStorage } from '../../src/frameworks/nestjs-throttler.ts';
import { fixedWindow, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { listening } from './servers.ts';

type Row = readonly [
  at: number,
  totalHits: number,
  timeToExpire: number,
  isBlocked: boolean,
  timeToBlockExpire: number,
];

const WINDOW = 60_000;
const START = WINDOW * 1000;

describe.each<[title: string, blockDuration: number, rows: readonly Row[]]>([
  [
    'without a block the next one is let in when the oldest hit is as old as ttl',
    0,
    [
      [0, 1, 60, false, 0],
      [10, 2, 60, false, 0],
      [20, 3, 40, true, 40],
      [59.5, 3, 1, true, 1],
      [60, 2, 60, false, 0],
      [69.9, 3, 1, true, 1],
      [70, 2, 60, false, 0],
      [130, 1, 60, false, 0],
    ],
  ],
  [
    'a block lasts from the first refusal on, and knocking does not prolong it',
    100_000,
    [
      [0, 1, 60, false, 0],
      [10, 2, 60, false, 0],
      [20, 3, 100, true, 100],
      [59, 3, 61, true, 61],
      [61, 3, 59, true, 59],
      [119.5, 3, 1, true, 1],
      [120, 1, 60, false, 0],
      [121, 2, 60, false, 0],
    ],
  ],
  [
    'after a block that is shorter than ttl everything starts anew',
    5000,
    [
      [0, 1, 60, false, 0],
      [1, 2, 60, false, 0],
      [2, 3, 5, true, 5],
      [6.9, 3, 1, true, 1],
      [7, 1, 60, false, 0],
      [8, 2, 60, false, 0],
      [9, 3, 5, true, 5],
    ],
  ],
])('%s', (_, blockDuration, rows) => {
  test('moment by moment', async () => {
    const clock = manualClock(START);
    const storage = throttlerStorage({ store: memoryStore({ clock }) });
    for (const [at, totalHits, timeToExpire, isBlocked, timeToBlockExpire] of rows) {
      clock.set(START + at * 1000);
      const answer = await storage.increment('key', WINDOW, 2, blockDuration, 'default');
      expect({ at, ...answer }).toEqual({ at, totalHits, timeToExpire, isBlocked, timeToBlockExpire });
    }
  });
});

test('limit and ttl mean what a policy says', async () => {
  const clock = manualClock(START + 45_000);
  const storage = throttlerStorage({ store: memoryStore({ clock }), policy: fixedWindow });
  expect(await storage.increment('key', WINDOW, 2, 0, 'default')).toMatchObject({ totalHits: 1, timeToExpire: 15 });
});

test('keys, throttlers and their limits are apart', async () => {
  const storage = throttlerStorage();
  const hits = async (key: string, name: string): Promise<number> =>
    (await storage.increment(key, WINDOW, 5, WINDOW, name)).totalHits;
  expect([
    await hits('a', 'short'),
    await hits('a', 'short'),
    await hits('a', 'long'),
    await hits('b', 'short'),
  ]).toEqual([...[1, 2, 1, 1]]);
});

test('a store that fails in the middle does not take the answer away', async () => {
  const memory = memoryStore();
  const store: Store = {
    ask: (question) =>
      question.verb === 'attempt' ? memory.ask(question) : Promise.reject(new Error('the store is away')),
  };
  const storage = throttlerStorage({ store });
  const blocked = [];
  for (let hit = 0; hit < 3; hit++)
    blocked.push((await storage.increment('key', WINDOW, 1, 5000, 'default')).isBlocked);
  expect(blocked).toEqual([false, true, true]);
});

test('a limit of 0 lets nobody in', async () => {
  const answer = { totalHits: 1, timeToExpire: 60, isBlocked: true, timeToBlockExpire: 60 };
  expect(await throttlerStorage().increment('key', WINDOW, 0, 0, 'default')).toEqual(answer);
});

test('options are checked', () => {
  expect(() => throttlerStorage({ redis: 1 } as never)).toThrow(
    expect.objectContaining({ path: 'throttlerStorage.redis' }),
  );
  expect(() => throttlerStorage({ policy: 1 } as never)).toThrow(
    expect.objectContaining({ path: 'throttlerStorage.policy' }),
  );
});

describe('in an app', () => {
  let app: INestApplication | undefined;
  afterEach(() => app?.close());

  test('its guard denies with it', async () => {
    class Hello {
      hello(): string {
        return 'hello';
      }
    }
    Controller()(Hello);
    Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello')!);
    class AppModule {}
    Module({
      imports: [ThrottlerModule.forRoot({ throttlers: [{ ttl: WINDOW, limit: 2 }], storage: throttlerStorage() })],
      controllers: [Hello],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(AppModule);
    app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    const { port } = await listening(app.getHttpServer());
    const seen = [];
    for (let request = 0; request < 3; request++) {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}/`);
      seen.push([status, headers.get('x-ratelimit-remaining'), headers.get('retry-after')]);
    }
    expect(seen).toEqual([
      [200, '1', null],
      [200, '0', null],
      [429, null, '60'],
    ]);
  });
});
