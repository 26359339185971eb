/** Decides and reports, and never denies; and a policy in the shadow leaves the others as if it were not there. */
import { describe, expect, test } from 'vitest';
import { createLimiter, manualClock, memoryStore, type Store, tokenBucket } from '../../src/index.ts';
import { type ShadowDenied, shadow } from '../../src/layers/index.ts';
import { check, counting, decide, type Seen, waitedFor } from './support.ts';

const wide = tokenBucket({ capacity: 10, refillRate: 1, name: 'wide' });
const narrow = tokenBucket({ capacity: 3, refillRate: 1, name: 'narrow' });
const tiny = tokenBucket({ capacity: 1, refillRate: 1, name: 'tiny' });

const INNER: readonly [name: string, wrap: (store: Store) => Store][] = [
  ['answers at once', (store) => store],
  ['has to be waited for', waitedFor],
];

describe.each(INNER)('around a store that %s', (_, wrap) => {
  const around = (policies?: readonly string[]) => {
    const clock = manualClock(0);
    const bare = counting(memoryStore({ clock }));
    const denied: ShadowDenied[] = [];
    const store = shadow({ policies, onShadowDenied: (event) => denied.push(event) })(wrap(bare));
    const left = (): number[] => {
      const { verdicts } = memoryOf(bare);
      return verdicts.map(({ remaining }) => remaining);
    };
    return { clock, bare, store, denied, left };
  };
  const memoryOf = (store: Store): Seen => {
    const checks = [wide, narrow, tiny].map((policy) => check(policy, 0));
    const answer = decide(store, checks, { dryRun: true });
    if ('then' in answer) throw new Error('not a memory store');
    return answer;
  };

  test('everything in the shadow: a rehearsal of the whole, where nothing is denied', async () => {
    const { store, denied, left } = around();
    const checks = [check(wide, 2), check(narrow, 2)];
    expect(await decide(store, checks)).toMatchObject({
      source: 'store',
      verdicts: [{ remaining: 8 }, { remaining: 1 }],
    });
    expect(await decide(store, checks)).toEqual({
      now: 0,
      source: 'shadow',
      verdicts: [
        { allowed: true, remaining: 8, retryAfter: 0, resetAfter: 2_000_000, delay: 0 },
        { allowed: true, remaining: 1, retryAfter: 0, resetAfter: 2_000_000, delay: 0 },
      ],
    });
    expect(left()).toEqual([8, 1, 1]);
    expect(denied).toEqual([
      {
        key: 'someone',
        cost: 2,
        policy: narrow,
        decision: {
          policy: 'narrow',
          allowed: false,
          limit: 3,
          remaining: 1,
          retryAfter: 1,
          resetAfter: 2,
          resetAt: 2,
          delay: null,
        },
      },
    ]);
  });

  test('a policy in the shadow does not keep the others from being spent from', async () => {
    const { store, denied, left } = around(['narrow']);
    const checks = [check(narrow, 2), check(wide, 2)];
    await decide(store, checks);
    expect(await decide(store, checks)).toMatchObject({
      source: 'shadow',
      verdicts: [
        { allowed: true, remaining: 1 },
        { allowed: true, remaining: 6 },
      ],
    });
    expect(left()).toEqual([6, 1, 1]);
    expect(denied.map(({ policy }) => policy.name)).toEqual(['narrow']);
  });

  test('an attempt that the others deny is denied, and spends nothing in the shadow', async () => {
    const { store, denied, left } = around(['wide']);
    const checks = [check(wide, 2), check(narrow, 2)];
    await decide(store, checks);
    expect(await decide(store, checks)).toMatchObject({
      source: 'store',
      verdicts: [
        { allowed: true, remaining: 8 },
        { allowed: false, remaining: 1, retryAfter: 1_000_000 },
      ],
    });
    expect(left()).toEqual([8, 1, 1]);
    expect(denied).toEqual([]);
  });

  test('denied in earnest and in the shadow: the "no" is the store\'s, and is not reported as a trial', async () => {
    const { store, denied } = around(['tiny']);
    expect(await decide(store, [check(tiny, 4), check(narrow, 4)])).toMatchObject({
      source: 'store',
      verdicts: [{ allowed: true }, { allowed: false }],
    });
    expect(denied).toEqual([]);
  });

  test('several by name are each judged on their own', async () => {
    const { store, denied, left } = around(['narrow', 'tiny']);
    const checks = [check(tiny, 2), check(wide, 2), check(narrow, 2)];
    expect(await decide(store, checks)).toMatchObject({
      source: 'shadow',
      verdicts: [{ remaining: 1 }, { remaining: 8 }, { remaining: 1 }],
    });
    expect(left()).toEqual([8, 1, 1]);
    expect(denied.map(({ policy }) => policy.name)).toEqual(['tiny']);
  });

  test('only policies in the shadow', async () => {
    const { store, left } = around(['narrow', 'tiny']);
    expect(await decide(store, [check(narrow, 2), check(tiny, 2)])).toMatchObject({ source: 'shadow' });
    expect(left()).toEqual([10, 1, 1]);
  });

  test('none of them in the shadow: one call, untouched', async () => {
    const { store, bare } = around(['another']);
    expect(await decide(store, [check(narrow, 4)])).toMatchObject({ source: 'store', verdicts: [{ allowed: false }] });
    expect(bare.calls).toEqual(['attempt']);
  });

  test('a dry run is answered likewise, and not reported', async () => {
    const { store, denied, left } = around();
    expect(await decide(store, [check(narrow, 4)], { dryRun: true })).toMatchObject({
      source: 'shadow',
      verdicts: [{ allowed: true, remaining: 3 }],
    });
    expect(denied).toEqual([]);
    expect(left()).toEqual([10, 3, 1]);
  });

  test('through a limiter', async () => {
    const { store } = around(['narrow']);
    const limiter = createLimiter({ policies: [wide, narrow], store });
    const sources: string[] = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const { allowed, source, policy } = await limiter.attempt('someone');
      sources.push(`${allowed} ${source} ${policy}`);
    }
    expect(sources).toEqual([
      ...Array(3).fill('true store narrow'),
      ...Array(6).fill('true shadow narrow'),
      'true shadow wide',
      'false store wide',
    ]);
  });
});
