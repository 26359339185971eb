/** What several workers are made of, each by itself: sums, seconds of several processes, questions between two of them, deaths. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { storeOf } from '../src/service/crew.ts';
import { HttpError } from '../src/service/http-error.ts';
import { commonOriginMs, Live } from '../src/service/live.ts';
import { historyOf, viewOf } from '../src/service/live-sums.ts';
import { Metrics, metricsText } from '../src/service/metrics.ts';
import { sum } from '../src/service/sum.ts';
import { Channel, NoAnswer } from '../src/workers/channel.ts';
import { Deaths } from '../src/workers/deaths.ts';

describe('sums', () => {
  test('numbers, lists, maps and records of them; what one side alone has stays', () => {
    const one = { a: 1, list: [1, 2], map: new Map([['x', { n: 1 }]]), record: { p: 5 } };
    const other = { a: 2, list: [10, 20], map: new Map([['x', { n: 3 }], ['y', { n: 7 }]]), record: { p: 1, q: 2 } }; // biome-ignore format: a row
    expect(sum<unknown>(one, other)).toEqual({
      a: 3,
      list: [11, 22],
      map: new Map([
        ['x', { n: 4 }],
        ['y', { n: 7 }],
      ]),
      record: { p: 6, q: 2 },
    });
    expect(one.map.get('x')).toEqual({ n: 1 });
  });

  test('metrics of two are those of one that did both, line by line', () => {
    const [one, other, both] = [new Metrics(), new Metrics(), new Metrics()];
    const first = (metrics: Metrics): void => {
      metrics.decided('api', 'allowed');
      metrics.checked(0.0004);
      metrics.responded(200);
      metrics.envoy.requested();
      metrics.envoy.happened('redis_error');
    };
    const second = (metrics: Metrics): void => {
      metrics.decided('api', 'denied');
      metrics.decided('login', 'shadow_denied');
      metrics.checked(0.5);
      metrics.responded(200);
      metrics.responded(404);
      metrics.storeFailed();
      metrics.cutOff();
      metrics.reloaded('rejected');
    };
    first(one);
    second(other);
    first(both);
    second(both);
    const now = {
      ...{ storeUp: true, serversAway: 0 },
      use: { cpuSeconds: 1, residentBytes: 2, startedAt: 3 },
    };
    expect(metricsText(sum(one.counts(), other.counts()), now)).toBe(metricsText(both.counts(), now));
  });
});

test('the last seconds of two processes are the same seconds, whatever their clocks began with', () => {
  let now = 10_000;
  // The second process began 7.3 s after the first.
  const early = new Live(() => now, 0);
  const late = new Live(() => now - 7300, 7300);
  const decision = (key: string, allowed: boolean) => [{ policy: 'api', key, allowed, shadow: false }];
  const decide = (live: Live, key: string, allowed: boolean, at: number): void => {
    live.answered(decision(key, allowed), 'store', 0.001, at);
    live.requested(allowed, at);
  };
  decide(early, 'ann', true, now);
  decide(late, 'ann', false, now - 7300);
  now = 11_500;
  decide(late, 'bob', false, now - 7300);
  now = 12_100;
  const states = [early.state(60), late.state(60)];
  const { requests, policies, top, store } = viewOf(states, 60, 5);
  expect(requests).toMatchObject({ allowed: 1, denied: 2 });
  expect(policies).toMatchObject([{ name: 'api', allowed: 1, denied: 2 }]);
  expect(top.busiest).toEqual([
    { policy: 'api', key: 'ann', count: 2, error: 0 },
    { policy: 'api', key: 'bob', count: 1, error: 0 },
  ]);
  expect(store.fallbackShare).toBe(0);
  expect(historyOf(states, 60).map(({ second, requests: counts }) => [second, counts.allowed, counts.denied])).toEqual([
    [10, 1, 1],
    [11, 0, 1],
  ]);
  expect(structuredClone(states)).toEqual(states);
});

test('processes that begin at different times have one clock', async () => {
  const now = (): number => commonOriginMs() + performance.now();
  const module = new URL('../dist/service/live.js', import.meta.url);
  const script = `import { commonOriginMs } from '${module}'; console.log(commonOriginMs() + performance.now());`;
  const before = now();
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(Number(stdout)).toBeGreaterThan(before);
  expect(Number(stdout)).toBeLessThan(now());
});

test('the store is down as soon as one worker does not have it, since the first of them does not', () => {
  const store = (isUp: boolean, secondsAgo: number) => ({
    store: { isUp, isOfUse: true, state: { state: isUp ? ('up' as const) : ('down' as const), secondsAgo } },
  });
  const told = (...reports: object[]) => storeOf({ reports, counts: new Metrics().counts() } as never);
  expect(told(store(true, 9), store(true, 5))).toMatchObject({ isUp: true, state: { state: 'up', secondsAgo: 5 } });
  expect(told(store(true, 9), store(false, 2), store(false, 3))).toMatchObject({
    isUp: false,
    state: { state: 'down', secondsAgo: 3 },
  });
});

describe('questions between two processes', () => {
  function pair(answer: (question: unknown) => unknown) {
    const here: Channel<unknown> = new Channel((message) => there.receive(structuredClone(message)), () => undefined); // biome-ignore format: a row
    const there: Channel<unknown> = new Channel((message) => here.receive(structuredClone(message)), answer);
    return here;
  }

  test('are answered each by its own answer, in whatever order', async () => {
    const waiting = new Map<unknown, () => void>();
    const channel = pair((question) => new Promise((resolve) => waiting.set(question, () => resolve(`${question}!`))));
    const asked = [channel.ask('a'), channel.ask('b')];
    waiting.get('b')!();
    waiting.get('a')!();
    expect(await Promise.all(asked)).toEqual(['a!', 'b!']);
  });

  test('keep what callers are told of an error, and its sentence otherwise', async () => {
    const refused = new HttpError(404, 'unknown_hold', 'no such hold', {
      path: 'hold',
      headers: { 'Retry-After': '1' },
    });
    const told = (await pair(() => Promise.reject(refused))
      .ask('x')
      .catch((error) => error)) as HttpError;
    expect(told).toBeInstanceOf(HttpError);
    expect({ ...told, message: told.message }).toEqual({ ...refused, message: refused.message });
    const broken = pair(() => {
      throw new Error('broken');
    });
    await expect(broken.ask('x')).rejects.toThrow(new Error('broken'));
  });

  test('have no answer after a time, or when the other is gone', async () => {
    const channel = pair(() => new Promise(() => {}));
    await expect(channel.ask('x', 1)).rejects.toThrow(new NoAnswer('no answer in 1 ms'));
    const asked = channel.ask('x');
    channel.close(new NoAnswer('gone'));
    await expect(asked).rejects.toThrow('gone');
    await expect(channel.ask('x')).rejects.toThrow(NoAnswer);
  });
});

test('five deaths within a minute are one too many, and older ones are forgotten', () => {
  let now = 0;
  const deaths = new Deaths(() => now);
  const at = (seconds: number): boolean => {
    now = seconds * 1e3;
    return deaths.add();
  };
  expect([0, 20, 40, 59].map(at)).toEqual([false, false, false, false]);
  // The first was a minute ago.
  expect(at(60)).toBe(false);
  expect(at(61)).toBe(true);
});
