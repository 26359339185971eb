/** Why: the answer to one request in words, from the numbers of the answer. */
import type { Policy } from 'sluice';
import { amount, seconds } from '../canvas/words.ts';
import type { Trace } from '../engine/trace.ts';
import { type CardId, durationText, limitOf } from './catalog.ts';

export function reasonOf(trace: Trace, id: CardId, index: number, policy: Policy): string {
  const card = trace.cards[id];
  const slot = trace.slot(index);
  const [remaining, cost, retryAfter] = [card.remaining[slot]!, trace.cost[slot]!, card.retryAfter[slot]!];
  if (card.delay[slot]! > 0) return `waits ${seconds(card.delay[slot]!, 2)} for its slot`;
  if (card.allowed[slot] === 1) return `${amount(remaining)} of ${limitOf(policy)} left`;
  if (retryAfter === Number.POSITIVE_INFINITY) return `${cost} can never fit into ${limitOf(policy)}`;
  return `${why(policy, remaining, cost)}; fits in ${seconds(retryAfter, 2)}`;
}

function why(policy: Policy, remaining: number, cost: number): string {
  const missing = cost > 1 ? `${remaining} left, ${cost} asked` : undefined;
  switch (policy.algorithm) {
    case 'fixed-window':
      return missing ?? 'this window is used up';
    case 'sliding-window-log':
      return missing ?? `${policy.limit} in the last ${durationText(policy.window)}`;
    case 'sliding-window-counter':
      return missing ?? 'both counts are full';
    case 'token-bucket':
      return missing ?? 'no whole token left';
    case 'leaky-bucket':
      return missing ?? (policy.mode === 'shaping' ? 'the queue is full' : 'it would overflow');
    case 'gcra':
      return missing ?? 'too far ahead of its time';
  }
}
