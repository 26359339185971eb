/** What the compiler knows: the request of a framework flows from the gate into the key helpers. */
import { expectTypeOf, test } from 'vitest';
import {
  byIp,
  byUser,
  combine,
  firstOf,
  type Gate,
  type GateDecision,
  gate,
  type Key,
  type RequestResult,
  type RequestView,
} from '../../src/http/index.ts';
import { createLimiter, tokenBucket } from '../../src/index.ts';

interface Native {
  readonly user?: { readonly id: number };
}
const limiter = createLimiter({ policy: tokenBucket({ capacity: 5, refillRate: 1 }) });

test('the request of the framework is known where it is used', () => {
  gate<Native>({ limiter, key: byUser((request) => request.user?.id), cost: (view) => view.native?.user?.id ?? 1 });
  const byAccount = byUser((request: Native) => request.user?.id);
  expectTypeOf(gate({ limiter, key: firstOf(combine(byAccount, byIp()), byIp()) })).toEqualTypeOf<Gate<Native>>();
});

test('a key for any request is a key for this one, and not the other way round', () => {
  expectTypeOf(byIp()).toExtend<Key<Native>>();
  expectTypeOf(byUser((request: Native) => request.user?.id)).not.toExtend<Key<{ user: string }>>();
});

test('a view needs four things', () => {
  expectTypeOf<{
    method: string;
    path: string;
    ip: undefined;
    header(name: string): undefined;
  }>().toExtend<RequestView>();
});

test('a decision says what to do by `allowed`', () => {
  expectTypeOf<Extract<GateDecision, { allowed: false }>['result']>().toEqualTypeOf<RequestResult | undefined>();
  expectTypeOf<Extract<GateDecision, { allowed: true }>>().not.toHaveProperty('response');
});
