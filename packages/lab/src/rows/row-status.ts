/** What is left in a row, and when there is more, in a few words. */
import type { RowState } from '../model/state.ts';
import { count, countdown } from '../words/words.ts';

export function statusOf({ remaining, retryAfter, resetAfter, waiting, parts }: RowState): string {
  const all = parts.map((part) => `${count(part.remaining)} ${part.title}`).join(', ');
  const left = `${all || count(remaining)} left`;
  if (retryAfter === Number.POSITIVE_INFINITY) return `${left}, can never fit`;
  if (retryAfter !== undefined && retryAfter > 0) return `${left}, retry in ${countdown(retryAfter)}`;
  if (waiting > 0) return `${left}, ${count(waiting)} in line`;
  return resetAfter > 0 ? `${left}, resets in ${countdown(resetAfter)}` : left;
}
