/**
 * Fixed window: count what is admitted, start again at the next window. Windows lie on the clock (`align: 'epoch'`) or
 * start at a key's first attempt (`align: 'first'`). The simplest, and it lets up to twice the limit through around the edge of
 * a window: in any time of one window at most 2 x limit is admitted.
 * State: [window start, count]. Twin: fixed-window.lua.
 */
import type { Algorithm, Numbers } from '../../model/algorithm.ts';
import { allow, becoming, deny, NEVER, UNCHANGED } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { FixedWindowPolicy } from '../../model/policy.ts';

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy> = {
  width: 2,
  transition(state, now, cost, { limit, window, align }) {
    const size = toMicros(window);
    const opens = align === 'epoch' ? now - (now % size) : now;
    const since = state === undefined ? NEVER : state[0]!;
    const reanchored = since - now > size;
    const isOpen = align === 'epoch' ? since >= opens : now - since < size;
    const start = isOpen && !reanchored ? startOf(since, now, size, align, opens) : opens;
    const count = isOpen ? state![1]! : 0;
    const untilEnd = start + size - now;
    const room = Math.max(0, limit - count);

    if (cost > 0 && cost <= room) return becoming(allow(room - cost, untilEnd), start, count + cost);
    const reset = count === 0 ? 0 : untilEnd;
    if (cost === 0) return allow(room, reset);
    const denied = deny(room, cost > limit ? Number.POSITIVE_INFINITY : untilEnd, reset);
    return reanchored ? becoming(denied, start, count) : denied;
  },
  penalize(state, now, cost, policy) {
    const [start, count] = windowOf(state, now, policy);
    const spent = Math.min(cost, policy.limit - count);
    return spent <= 0 ? UNCHANGED : { units: spent, next: [start, count + spent] };
  },
  /** What was spent in another window is forgotten with it. */
  refund(state, now, cost, spent, policy) {
    const [start, count] = windowOf(state, now, policy);
    const back = spent !== undefined && spent.until !== start + toMicros(policy.window) ? 0 : Math.min(cost, count);
    return back === 0 ? UNCHANGED : { units: back, next: [start, count - back] };
  },
};

/** The window that counts now: where it starts, and what is in it. */
function windowOf(
  state: Numbers | undefined,
  now: number,
  { window, align }: FixedWindowPolicy,
): [start: number, count: number] {
  const size = toMicros(window);
  const opens = align === 'epoch' ? now - (now % size) : now;
  const since = state === undefined ? NEVER : state[0]!;
  const isOpen = align === 'epoch' ? since >= opens : now - since < size;
  if (!isOpen) return [opens, 0];
  return [since - now > size ? opens : startOf(since, now, size, align, opens), state![1]!];
}

/** Where an open window starts. One that starts later than now is used as it is: time going backwards opens no new one. */
function startOf(since: number, now: number, size: number, align: FixedWindowPolicy['align'], opens: number): number {
  if (align === 'first') return since;
  return since > now ? since - (since % size) : opens;
}
