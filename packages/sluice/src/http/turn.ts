/**
 * Waiting for a turn at a limiter, by the clock, the deadline and the errors of the fetch it is for. `limiter.acquire` has its own of all
 * three, and putting them right afterwards would be longer than this.
 */
import type { Cost } from '../limiter/costs.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { Clock } from '../model/clock.ts';
import type { Sleep } from './timers.ts';

export interface Wait {
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Milliseconds, on that clock. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
}

/** Spends this cost, now or as soon as it is there; rejects immediately when that is after the deadline. */
export async function takeTurn(
  limiter: Limiter,
  key: string,
  cost: Cost,
  { clock, sleep, endsAt, signal }: Wait,
): Promise<void> {
  for (;;) {
    const { allowed, delay, retryAfter } = await limiter.attempt(key, { cost });
    const waitMs = Math.ceil(((allowed ? delay : retryAfter) ?? 0) * 1e3);
    if (clock.now() + waitMs > endsAt) throw deadlinePassed();
    if (waitMs > 0) await sleep(waitMs, signal);
    if (allowed) return;
  }
}

/** As AbortSignal.timeout words it, so that callers need to know one kind of error. */
export function deadlinePassed(): DOMException {
  return new DOMException('The deadline leaves no time for this request', 'TimeoutError');
}
