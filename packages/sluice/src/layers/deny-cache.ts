/**
 * Says "no" again without asking, as long as that and every number in it is exactly what the store would say.
 *
 * When is that? A denial of cost 1 means that nothing is left, so nobody, in whatever process, can spend from that policy before its
 * retryAfter has passed: the state stands still, and only time counts down. A denial of a larger cost proves less: others may spend what
 * is left, and something may come back before its retryAfter, so `remaining` and `retryAfter` may be different a moment later. So:
 * - A denial of cost 1 is repeated until its retryAfter, the shortest one if several policies deny.
 * - While it stands, larger costs are denied too, but when they fit only the store knows: each is asked for once and then repeated as well.
 * - Everything else is asked: cheaper attempts, dry runs, costs that never fit, and larger costs without a denial of cost 1.
 *
 * The time is counted from before the attempt was sent, so it ends no later than the store's. What the store cannot have said is not
 * repeated: the answers of a fallback, for one. The decisions of other policies that did not deny are those of the moment they were made.
 *
 * Everything that is changed, reset or spent through this layer, also under other numbers, is forgotten here first. Capacity that another process gives back (a
 * refund, a reset, an unblock) is seen when the denial ends or has been repeated for `maxAge`: the one thing this layer gives up.
 */
import { type Clock, checkClock, monotonicClock, readMicros } from '../model/clock.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import { type Check, checkStore, type MaybePromise, type Store, type Verdicts } from '../model/store.ts';
import { checkCount } from './counts.ts';
import { Denials } from './denials.ts';
import type { Layer } from './layered.ts';
import { RecentKeys } from './recent-keys.ts';
import { withShortWay } from './short-way.ts';

export interface DenyCacheOptions {
  /** Denials kept at most. The oldest makes room: then the store is asked once more. Default: 10,000. */
  readonly maxKeys?: number | undefined;
  /** How long a denial is repeated at most before the store is asked again. Default: 10 s. */
  readonly maxAge?: Duration | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

const DEFAULT_MAX_KEYS = 10_000;
const DEFAULT_MAX_AGE = '10s';

/**
 * A store that answers at once needs no cache, and reading the clock would cost as much as asking it. After so many such answers in a
 * row the clock is left alone, until the store has to be waited for again.
 */
const ENOUGH_AT_ONCE = 100;

export function denyCache(options: DenyCacheOptions = {}): Layer {
  checkOptionNames(options, ['maxKeys', 'maxAge', 'clock'], 'denyCache');
  const maxKeys = checkCount(options.maxKeys ?? DEFAULT_MAX_KEYS, 'denyCache.maxKeys');
  const maxAge = toMicros(parseDuration(options.maxAge ?? DEFAULT_MAX_AGE, 'denyCache.maxAge'));
  const clock = checkClock(options.clock ?? monotonicClock, 'denyCache.clock');
  return (inner) => cachingStore(checkStore(inner, 'denyCache(...)(store)'), new Denials(maxKeys, maxAge), clock);
}

function cachingStore(inner: Store, denials: Denials, clock: Clock): Store {
  const changed = new RecentKeys();
  let answersAtOnce = 0;

  const touch = (key: string): void => {
    denials.forget(key);
    changed.note(key);
  };
  /** Before and after: an attempt that is under way meanwhile may be answered by what was before. */
  const touching = <T>(keys: readonly string[], act: () => MaybePromise<T>): MaybePromise<T> => {
    keys.forEach(touch);
    const done = act();
    return isPromise(done) ? done.finally(() => keys.forEach(touch)) : done;
  };
  const learn = (checks: readonly Check[], answer: Verdicts, sentAt: number, since: number): Verdicts => {
    if (answer.source !== 'store') return answer;
    const wasSpent = answer.verdicts.every(isAllowed);
    denials.answered(checks, wasSpent);
    if (!wasSpent && !checks.some(({ key }) => changed.has(key, since))) denials.keep(checks, answer, sentAt);
    return answer;
  };

  const decide: Store['decide'] = (checks, options) => {
    if (options?.dryRun === true) return inner.decide(checks, options);
    const readsClock = answersAtOnce < ENOUGH_AT_ONCE || denials.size > 0;
    const sentAt = readsClock ? readMicros(clock) : Number.NaN;
    if (denials.size > 0) {
      const known = denials.find(checks, sentAt);
      if (known !== undefined) return known;
    }
    const answer = inner.decide(checks, options);
    if (!isPromise(answer)) {
      if (answersAtOnce < ENOUGH_AT_ONCE) answersAtOnce += 1;
      return answer;
    }
    answersAtOnce = 0;
    const since = changed.moment;
    return answer.then((verdicts) => learn(checks, verdicts, sentAt, since));
  };

  return {
    // Whoever has a short way answers at once, and what was answered at once is never kept here.
    decide: withShortWay(decide, inner.decide.one),
    change: (changes) =>
      touching(
        changes.map(({ key }) => key),
        () => inner.change(changes),
      ),
    forget: (key, policies) => touching([key], () => inner.forget(key, policies)),
    history: (key, policy) => inner.history(key, policy),
  };
}

function isAllowed({ allowed }: { readonly allowed: boolean }): boolean {
  return allowed;
}
