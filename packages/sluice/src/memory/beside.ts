/** What the memory store keeps beside the states of keys, in tables like theirs: blocks, and the marks of holds and retries. */
import type { Rule } from '../model/rule.ts';
import type { Step } from '../model/step.ts';
import type { KeptRule } from './table.ts';

/** Until when keys are blocked: a state of one number, which is never free. */
export function blocksOf({ identity }: Rule): KeptRule {
  return { identity: `blocked ${identity}`, width: 1, limit: 1, numbers: '', write: undefined, transition: isLimited };
}

export const MARKS = 'marked';

/** Marks are lists, and go before any state of a key. */
export function marksOf(numbers: number[] | undefined): KeptRule {
  return { identity: MARKS, width: 0, limit: 1, numbers: '', write: () => numbers ?? [], transition: goesFirst };
}

/** No two pairs of key and id have the same. */
export function markKey(key: string, id: string): string {
  return `${id.length}:${id}${key}`;
}

function isLimited(_state: unknown, _now: number, _cost: number, look: Step): void {
  look.allow(0, 0);
}

/** Freer than a key of which nothing is spent. */
function goesFirst(_state: unknown, _now: number, _cost: number, look: Step): void {
  look.allow(2, 0);
}
