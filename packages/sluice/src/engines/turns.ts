/**
 * Calls of one turn of the event loop become one: what an engine costs is mostly the round trip. A lone call is not delayed; while a few calls are
 * under way those that come wait for one of them to end, so that under load each carries more.
 */
import { atEndOfTurn } from '../model/runtime.ts';

/** Answers many at the same time, in their order. */
export type AnswerMany<Ask, Reply> = (asks: readonly Ask[]) => Promise<readonly Reply[]>;

interface Waiting<Ask, Reply> {
  readonly ask: Ask;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/** At most so many calls at the same time: the engine works on one while this process makes the next. */
const CALLS = 3;
/** At most so many in one call. */
const MOST = 256;
/** So many or more are worth a call of their own: then the engine works on one call while this process makes, or reads, another. */
const WORTH_A_CALL = 24;

export function perTurn<Ask, Reply>(answerMany: AnswerMany<Ask, Reply>): (ask: Ask) => Promise<Reply> {
  let waiting: Waiting<Ask, Reply>[] = [];
  let underway = 0;
  let isPlanned = false;

  const send = (group: readonly Waiting<Ask, Reply>[]): void => {
    underway += 1;
    const done = (settle: () => void): void => {
      underway -= 1;
      settle();
      if (waiting.length > 0) plan();
    };
    answered(answerMany, group).then(
      (replies) => done(() => group.forEach(({ resolve }, at) => void resolve(replies[at]!))),
      (error: unknown) => done(() => group.forEach(({ reject }) => void reject(error))),
    );
  };

  const flush = (): void => {
    isPlanned = false;
    const calls = Math.max(1, Math.min(CALLS - underway, Math.floor(waiting.length / WORTH_A_CALL)));
    const size = Math.min(MOST, Math.ceil(waiting.length / calls));
    while (waiting.length > 0 && underway < CALLS) {
      const group = waiting.slice(0, size);
      waiting = waiting.slice(size);
      send(group);
    }
  };

  const plan = (): void => {
    if (isPlanned || underway >= CALLS) return;
    isPlanned = true;
    (underway === 0 ? queueMicrotask : atEndOfTurn)(flush);
  };

  return (ask) =>
    new Promise((resolve, reject) => {
      waiting.push({ ask, resolve, reject });
      plan();
    });
}

/** Whatever is thrown is a rejection. */
async function answered<Ask, Reply>(
  answerMany: AnswerMany<Ask, Reply>,
  group: readonly Waiting<Ask, Reply>[],
): Promise<readonly Reply[]> {
  return answerMany(group.map(({ ask }) => ask));
}
