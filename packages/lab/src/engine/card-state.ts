/**
 * What a card's state is at a moment, for one client, told by the limiter's own answers: denied attempts change nothing, and between two admissions a
 * state only drains, so the last admission and the time say it all. Whatever moment is looked at, past ones included, and wherever the answers came from,
 * browser or server, the picture is made of the same numbers. A test compares them with looks of the library itself.
 */
import type { Policy } from 'sluice';
import { type CardId, limitOf } from '../cards/catalog.ts';
import { type Trace, windowCounts, windowNumber } from './trace.ts';

export interface CardState {
  readonly policy: Policy;
  readonly now: number;
  readonly limit: number;
  /** Units in use: counted, carried over, missing from the bucket, queued. With a fraction where there is one. */
  readonly used: number;
  /** Whole units that would be allowed now. */
  readonly remaining: number;
  /** Until the client is as good as new. */
  readonly resetAfter: number;
  /** Of the last attempt, if that was denied: until it would be allowed. Undefined when it was not. */
  readonly retryAfter: number | undefined;
  /** Where the window of the clock starts and what was granted in it and before it; only where a policy has windows. */
  readonly window: WindowState | undefined;
}

export interface WindowState {
  readonly start: number;
  readonly size: number;
  readonly current: number;
  readonly previous: number;
  /** What of the previous window still counts. */
  readonly carried: number;
}

const TOLERANCE = 1e-9;
/** Times are whole microseconds; sums of them in milliseconds are off by less than this. */
const HALF_MICROSECOND = 0.0005;

export function stateAt(
  trace: Trace,
  id: CardId,
  policy: Policy,
  client: number,
  now: number,
  origin: number,
): CardState {
  const last = trace.lastAt(now);
  const granted = trace.lastAllowedOf(id, client, last);
  const limit = limitOf(policy);
  const card = trace.cards[id];
  const resetAfter = granted < 0 ? 0 : Math.max(0, card.resetAt[trace.slot(granted)]! - now);
  const window = windowAt(trace, id, policy, granted, now, origin);
  const used = usedAt(trace, id, policy, client, granted, now, resetAfter, window);
  return {
    policy,
    now,
    limit,
    used,
    remaining: Math.max(0, Math.floor(limit - used + TOLERANCE)),
    resetAfter,
    retryAfter: retryAt(trace, id, trace.lastOf(client, last), now),
    window,
  };
}

function usedAt(
  trace: Trace,
  id: CardId,
  policy: Policy,
  client: number,
  granted: number,
  now: number,
  resetAfter: number,
  window: WindowState | undefined,
): number {
  switch (policy.algorithm) {
    case 'fixed-window':
      return resetAfter > 0 ? policy.limit - trace.cards[id].remaining[trace.slot(granted)]! : 0;
    case 'sliding-window-log': {
      let units = 0;
      eachGranted(trace, id, client, granted, now - policy.window, (_, cost) => {
        units += cost;
      });
      return units;
    }
    case 'sliding-window-counter':
      return window!.current + window!.carried;
    case 'token-bucket':
      return (resetAfter * policy.refillRate) / 1000;
    case 'leaky-bucket':
      return (resetAfter * policy.leakRate) / 1000;
    case 'gcra':
      return (resetAfter * policy.limit) / policy.period;
  }
}

function windowAt(
  trace: Trace,
  id: CardId,
  policy: Policy,
  granted: number,
  now: number,
  origin: number,
): WindowState | undefined {
  if (!('window' in policy)) return undefined;
  const size = policy.window;
  const card = trace.cards[id];
  const [current, previous] = granted < 0 ? [0, 0] : windowCounts(trace, card, granted, now, size, origin);
  const start = startOfWindow(trace, id, policy, granted, now, origin);
  const fading = Math.floor(previous * (1 - (now - start) / size) + TOLERANCE);
  return { start, size, current, previous, carried: Math.max(0, fading) };
}

function startOfWindow(
  trace: Trace,
  id: CardId,
  policy: Policy & { readonly window: number },
  granted: number,
  now: number,
  origin: number,
): number {
  if (policy.algorithm !== 'fixed-window' || policy.align === 'epoch') {
    return windowNumber(now + origin, policy.window) * policy.window - origin;
  }
  const end = granted < 0 ? now : trace.cards[id].resetAt[trace.slot(granted)]!;
  return end > now ? end - policy.window : now;
}

function retryAt(trace: Trace, id: CardId, last: number, now: number): number | undefined {
  if (last < 0) return undefined;
  const slot = trace.slot(last);
  const card = trace.cards[id];
  return card.allowed[slot] === 1 ? undefined : Math.max(0, trace.at[slot]! + card.retryAfter[slot]! - now);
}

/** The admissions of a client that act after a time, newest first. In a queue that is when their slot comes. */
export function eachGranted(
  trace: Trace,
  id: CardId,
  client: number,
  from: number,
  after: number,
  visit: (at: number, cost: number, delay: number) => void,
): void {
  const card = trace.cards[id];
  for (let index = from; index >= trace.first; index -= 1) {
    const slot = trace.slot(index);
    if (card.allowed[slot] === 0 || trace.client[slot] !== client) continue;
    if (trace.at[slot]! + card.delay[slot]! <= after + HALF_MICROSECOND) return;
    visit(trace.at[slot]!, trace.cost[slot]!, card.delay[slot]!);
  }
}
