/** A store that answers at once may have a short way (`decide.one`). A layer that would hide it makes every attempt take the long one. */
import type { Answer, ShortWay, Store, Verdicts } from '../model/store.ts';

/** `decide` with the short way beside it, if the store inside has one. */
export function withShortWay(decide: Store['decide'], one: ShortWay['one']): Store['decide'] {
  return one === undefined ? decide : Object.assign(decide, { one });
}

/** Of one check, decided the long way at once. */
export function answerOf(verdicts: unknown): Answer {
  const { now, verdicts: all, source } = verdicts as Verdicts;
  return { now, verdict: all[0]!, source };
}
