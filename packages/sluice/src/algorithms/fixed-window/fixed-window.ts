/**
 * Fixed window: count what is admitted, start again at the next window. Windows lie on the clock (`align: 'epoch'`) or
 * start at a key's first attempt (`align: 'first'`). The simplest, and it lets up to twice the limit through around the edge of
 * a window: in any time of one window at most 2 x limit is admitted.
 * State: [window start, count]. Twin: fixed-window.lua.
 */
import type { Algorithm, Numbers } from '../../model/algorithm.ts';
import { deny, look, spend } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { FixedWindowPolicy } from '../../model/policy.ts';

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy> = {
  width: 2,
  transition(state, now, cost, { limit, window, align }) {
    const size = toMicros(window);
    const opens = align === 'epoch' ? now - (now % size) : now;
    const reanchored = state !== undefined && state[0]! - now > size;
    const [start, count] = reanchored ? [opens, state[1]!] : windowAt(state, now, size, align, opens);
    const untilEnd = start + size - now;
    const room = Math.max(0, limit - count);

    const reset = count === 0 ? 0 : untilEnd;

    if (cost === 0) return look(room, reset);
    if (cost <= room) return spend(room - cost, untilEnd, [start, count + cost]);
    const retry = cost > limit ? Number.POSITIVE_INFINITY : untilEnd;
    return deny(room, retry, reset, reanchored ? [start, count] : undefined);
  },
};

/** The window that counts now. One that starts later than now is used as it is: time going backwards opens no new one. */
function windowAt(
  state: Numbers | undefined,
  now: number,
  size: number,
  align: FixedWindowPolicy['align'],
  opens: number,
): readonly [start: number, count: number] {
  if (state === undefined) return [opens, 0];
  const [start = 0, count = 0] = state;
  if (align === 'first') return now - start < size ? [start, count] : [opens, 0];
  if (start > now) return [start - (start % size), count];
  return start >= opens ? [opens, count] : [opens, 0];
}
