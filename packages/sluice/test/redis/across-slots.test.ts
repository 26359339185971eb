/** One attempt on several keys: one script on a single server, slot by slot with give-back in a cluster, all or nothing in both. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  fixedWindow,
  gcra,
  type Policy,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { decide } from '../support/asking.ts';
import { type Connection, serversOf, TOPOLOGIES } from './support/topologies.ts';

const servers = serversOf('redis');
afterAll(() => servers.stop());

const POLICIES: readonly Policy[] = [
  fixedWindow({ limit: 5, window: '1d' }),
  slidingWindowLog({ limit: 5, window: '1h' }),
  slidingWindowCounter({ limit: 5, window: '1d' }),
  tokenBucket({ capacity: 5, refillRate: '5/h' }),
  gcra({ limit: 5, period: '1h' }),
];

describe.each(['ioredis client', 'ioredis cluster', 'node-redis cluster', 'valkey-glide cluster'])('%s', (title) => {
  let connection: Connection;
  let store: Store;
  beforeAll(async () => {
    connection = await TOPOLOGIES.find((topology) => topology.title === `${title} on redis`)!.connect(servers);
    store = connection.store({ prefix: `across ${title}` });
  });
  afterAll(() => connection.close());

  it.each(POLICIES.map((policy) => [policy.algorithm, policy] as const))('%s: all or nothing', async (name, policy) => {
    const global = { key: `global ${name}`, policy, cost: 1 };
    const users = Array.from({ length: 4 }, (_, index) => ({ key: `user ${name} ${index}`, policy, cost: 2 }));
    const answers = [];
    for (const user of users) answers.push(await decide(store, [user, global]));
    expect(answers.map(({ verdicts }) => verdicts.map(({ allowed, remaining }) => [allowed, remaining]))).toEqual(
      [4, 3, 2, 1].map((left) => [
        [true, 3],
        [true, left],
      ]),
    );
    // The global one has 1 left: whoever asks for 2 of it is denied, and nobody's own limit is charged.
    const denied = await decide(store, [
      { ...users[0]!, cost: 1 },
      { ...global, cost: 2 },
    ]);
    expect(denied.verdicts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 3],
      [false, 1],
    ]);
    // The other way round it is the user's limit that denies.
    const other = await decide(store, [global, { ...users[1]!, cost: 4 }]);
    expect(other.verdicts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [false, 3],
    ]);
    const looked = await decide(store, [users[1]!, global], { dryRun: true });
    expect(looked.verdicts.map(({ remaining }) => remaining)).toEqual([3, 1]);
  });

  it('many at once never admit more than the global limit', async () => {
    const policy = fixedWindow({ limit: 20, window: '1d', name: 'crowd' });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        decide(store, [
          { key: `crowd ${index}`, policy, cost: 1 },
          { key: 'crowd', policy, cost: 1 },
        ]),
      ),
    );
    const admitted = answers.filter(({ verdicts }) => verdicts.every(({ allowed }) => allowed)).length;
    expect(admitted).toBe(20);
    expect((await decide(store, [{ key: 'crowd', policy, cost: 0 }])).verdicts[0]!.remaining).toBe(0);
  });
});
