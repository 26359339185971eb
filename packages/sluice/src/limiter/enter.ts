/**
 * Limits in flight: a place that is held until it is given back. What a permit does comes with the policies that give permits, so that no other
 * limiter carries it.
 */
import { readMicros } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import type { Duration } from '../model/duration.ts';
import { Kind, type SluiceError, wrong } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkFlag } from '../model/options.ts';
import type { Permit, Permits } from '../model/permit.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { checkResult } from '../model/spent.ts';
import { acquire, checkWork } from './acquire.ts';
import { type AttemptOptions, ask, type Core, called, type WithContext } from './core.ts';
import type { Amounts } from './costs.ts';
import type { Lines } from './lines.ts';
import { systemTimers } from './sleep.ts';

/** What `enter` and `permitOf` take besides the key. */
export interface EnterOptions<Context> extends AttemptOptions<Context> {
  /** Whether this process keeps the permit alive while it is held. Default: true. Without it, call `extend` in time. */
  readonly heartbeat?: boolean | undefined;
}

/** What `run` takes besides the key and the work. */
export interface RunOptions<Context> extends AttemptOptions<Context> {
  /** How long a place may take to come. Default: as long as it takes. */
  readonly timeout?: Duration | undefined;
  /** Whoever aborts no longer waits. Once the work has begun it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface EnterVerbs<Context> {
  /**
   * Takes a place if there is one, to be given back with `release`. For limiters with a policy that gives permits, such as `concurrency`; all
   * other policies are spent from in the same attempt, or none is.
   *
   * @example
   * await using permit = await limiter.enter('user:42');
   * if (permit.allowed) await render();
   */
  enter(key: string, ...options: WithContext<Context, EnterOptions<Context>>): Promise<Permit>;
  /**
   * Waits for a place, calls the function with the permit, and gives the place back when it is done. Resolves and rejects as the function does;
   * rejects as `acquire` when no place comes.
   *
   * @example
   * const image = await limiter.run('gpu', (permit) => render({ signal: permit.signal }), { timeout: '10s' });
   */
  run<T>(
    key: string,
    work: (permit: Permit) => T | PromiseLike<T>,
    ...options: WithContext<Context, RunOptions<Context>>
  ): Promise<T>;
  /**
   * The permit that the result of an attempt stands for, wherever that was made: to give it back in another process, or after an `attempt`.
   * Undefined when none of the policies gives permits. `cost` is that of the attempt. A promise where the policies are chosen asynchronously.
   */
  permitOf(
    key: string,
    result: RateLimitResult,
    ...options: WithContext<Context, EnterOptions<Context>>
  ): MaybePromise<Permit | undefined>;
}

const ENTER_OPTIONS = ['cost', 'heartbeat'] as const;

/** What a verb was called with, checked. */
interface Entering {
  readonly policies: readonly Policy[];
  readonly amounts: Amounts;
  readonly heartbeat?: boolean | undefined;
}

export function enterVerbs(core: Core<unknown>, lines: Lines): EnterVerbs<unknown> {
  const { store, timers } = core;
  const now = (): number => readMicros(timers.clock);
  return {
    async enter(key, options) {
      const entering = await called(core, 'enter', ENTER_OPTIONS, key, options);
      checkFlag(entering.heartbeat, 'enter.heartbeat');
      const permits = permitsAmong(entering.policies, 'enter');
      const sentAt = now();
      const result = await ask(store, key, entering.policies, entering.amounts);
      return hold(core, permits, key, entering, result, sentAt);
    },
    async run(key, work, options) {
      checkWork(work, 'run');
      let asked: (Entering & { readonly permits: Permits; readonly sentAt: number }) | undefined;
      const result = await acquire(core, lines, key, options, 'run', ({ policies, amounts }) => {
        asked = { policies, amounts, permits: permitsAmong(policies, 'run'), sentAt: now() };
      });
      const permit = hold(core, asked!.permits, key, asked!, result, asked!.sentAt);
      try {
        return await work(permit);
      } finally {
        // What the work says counts, whatever becomes of the place: it comes back with its ttl.
        await permit.release().catch(() => false);
      }
    },
    permitOf: (key, result, options) =>
      proceed(called(core, 'permitOf', ENTER_OPTIONS, key, options), (request) => {
        checkFlag(request.heartbeat, 'permitOf.heartbeat');
        const permits = permitsIn(request.policies);
        if (permits === undefined) return undefined;
        if (result.allowed) checkResult(result, key, request.policies, 'permitOf(key, result)');
        return hold(core, permits, key, request, result, now());
      }),
  };
}

function hold(
  { store, timers, freed }: Core<unknown>,
  permits: Permits,
  key: string,
  { policies, amounts, heartbeat = true }: Entering,
  result: RateLimitResult,
  sentAt: number,
): Permit {
  const { clock } = timers;
  return permits.permitOf({
    store,
    clock,
    key,
    policies,
    costs: amounts,
    result,
    sentAt,
    heartbeat,
    sleep: timers === systemTimers ? undefined : (ms) => timers.sleep(ms, new AbortController().signal),
    freed: () => freed(key),
  });
}

function permitsIn(policies: readonly Policy[]): Permits | undefined {
  for (const policy of policies) {
    const { permits } = ruleOf(policy);
    if (permits !== undefined) return permits;
  }
  return undefined;
}

function permitsAmong(policies: readonly Policy[], verb: string): Permits {
  const permits = permitsIn(policies);
  if (permits === undefined) throw noPermits(policies, verb);
  return permits;
}

function noPermits(policies: readonly Policy[], verb: string): SluiceError {
  return wrong(
    'SLUICE_NO_PERMITS',
    `limiter.${verb}`,
    "a limiter with a policy that gives permits, such as concurrency({ limit: 10, ttl: '30s' })",
    new Kind(policies.map(({ algorithm }) => algorithm).join(', ')),
  );
}
