/** Holds from the command line: reserved at a server or straight on Redis, and settled once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { run } from './run.ts';
import { type RunningService, startService } from './support.ts';

const POLICY = JSON.stringify({ algorithm: 'fixed-window', name: 'tokens', limit: 100, window: '1h' });

let service: RunningService;
let redis: RunningServer;
beforeAll(async () => {
  [service, redis] = await Promise.all([startService(), startServer({ kind: 'redis' })]);
});
afterAll(() => Promise.all([service.stop(), redis.stop()]));

const TARGETS: readonly (readonly [string, () => string[]])[] = [
  ['a server', () => ['--server', service.url]],
  ['Redis', () => ['--redis', redis.url]],
];

describe.each(TARGETS)('%s', (_, target) => {
  const sluice = (...words: string[]) => run([...words, ...target()]);

  test('reserved, settled, and settled only once', async () => {
    const held = await sluice('reserve', 'once', '--policy', POLICY, '--cost', '80', '--ttl', '2m');
    expect([held.code, held.error]).toEqual([0, '']);
    const hold = held.out.trim();
    const denied = await sluice('reserve', 'once', '--policy', POLICY, '--cost', '30');
    expect([denied.code, denied.out]).toEqual([1, expect.stringContaining('denied: 20 of 100 left (tokens)')]);
    const settled = await sluice('settle', hold, '--actual', '51');
    expect([settled.code, settled.out.trim()]).toEqual([0, 'settled: 49 of 100 left (tokens)']);
    const again = await sluice('settle', hold, '--actual', '0');
    expect([again.code, again.out]).toEqual([1, expect.stringContaining('settled already')]);
    const asJson = await sluice('settle', hold, '--actual', '0', '--json');
    expect([asJson.code, JSON.parse(asJson.out)]).toMatchObject([1, { settled: false }]);
    expect((await sluice('peek', 'once', '--policy', POLICY, '--json')).out).toContain('"remaining":49');
  });

  test('more than was reserved is charged as far as there is room, and into debt where that is allowed', async () => {
    const reserve = async () => (await sluice('reserve', 'more', '--policy', POLICY, '--cost', '60')).out.trim();
    const first = await sluice('settle', await reserve(), '--actual', 'tokens=130');
    expect(first.out.trim()).toBe(
      'settled: 0 of 100 left (tokens); 30 more were used than could be charged, see --max-debt',
    );
    await sluice('reset', 'more', '--policy', POLICY);
    const second = await sluice('settle', await reserve(), '--actual', '130', '--max-debt', '50', '--json');
    expect([second.code, JSON.parse(second.out)]).toMatchObject([0, { changed: 70, missing: 0, remaining: 0 }]);
  });

  test('a retry with the same id is not charged again', async () => {
    const attempt = () => sluice('attempt', 'retry', '--policy', POLICY, '--cost', '5', '--id', 'r1', '--ttl', '5m');
    expect((await attempt()).out).toContain('95 of 100 left');
    expect((await attempt()).out).toContain('95 of 100 left');
  });

  test.each<[string, string[]]>([
    ['expected one hold', ['settle']],
    ['expected --actual', ['settle', 'x']],
    ['--actual: expected NAME=UNITS', ['settle', 'x', '--actual', 'tokens=']],
    ['--ttl: expected a time', ['reserve', 'k', '--policy', POLICY, '--ttl', 'soon']],
    ['--ttl', ['peek', 'k', '--policy', POLICY, '--ttl', '1m']],
    ['This is not a hold', ['settle', 'x', '--actual', '1']],
  ])('wrong usage: %s', async (sentence, words) => {
    const { code, error } = await sluice(...words);
    expect([code, error]).toEqual([2, expect.stringContaining(sentence)]);
  });
});
