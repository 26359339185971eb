/** Refunds, penalties and blocks among attempts: Redis must answer as the memory store does, to the microsecond and the last bit. */
import { describe, expect, it } from 'vitest';
import type { Clock, Store } from '../../src/index.ts';
import { change, decide, forget } from '../support/asking.ts';
import { expectSameChanges } from '../support/changes.ts';
import { KINDS, randomFrom, randomPolicy, testSeed } from '../support/random.ts';
import { connectedTo } from './support/connected.ts';
import { SERVER_KINDS } from './support/topologies.ts';

describe.each(SERVER_KINDS)('%s', (kind) => {
  const { servers, connection } = connectedTo(kind);

  it.each(KINDS)('%s: whatever the order of attempts and changes', async (name) => {
    const seed = testSeed();
    console.log(`changes agree, ${name} on ${kind}: SLUICE_SEED=${seed}`);
    const makeStore = (clock: Clock): Store => connection().store({ clock, prefix: `changes ${name}` });
    const refunded = await expectSameChanges(name, makeStore, seed);
    expect(refunded, 'refunds must have happened, or the test is blind').toBeGreaterThan(0);
  });

  it.each(KINDS)('%s: a block is kept until it ends, and no key is left without an end', async (name) => {
    const policy = randomPolicy(randomFrom(1), name);
    const store = connection().store({ prefix: `block ${name}` });
    const { verdicts } = await change(store, [{ verb: 'block', key: 'k', policy, duration: 3_600_000_000 }]);
    expect(verdicts[0]).toMatchObject({ allowed: false, remaining: 0, retryAfter: 3_600_000_000 });
    const { command } = await servers.single();
    const [keyName] = (await command('KEYS', `block ${name}:*`)) as string[];
    const ttl = Number(await command('PTTL', keyName!));
    expect(ttl).toBeGreaterThan(3_590_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
    expect((await decide(store, [{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(false);
    await change(store, [{ verb: 'unblock', key: 'k', policy }]);
    expect((await decide(store, [{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(true);
    await change(store, [{ verb: 'block', key: 'k', policy, duration: 3_600_000_000 }]);
    await forget(store, 'k', [policy]);
    expect((await decide(store, [{ key: 'k', policy, cost: 1 }])).verdicts[0]!.allowed).toBe(true);
  });
});
