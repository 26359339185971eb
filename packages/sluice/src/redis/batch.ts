/**
 * Attempts that come in one turn of the event loop go out together: one script call decides many, each by itself and each
 * key's attempts in order. What a command costs is mostly not the decision, so this saves client and server most of their work.
 * A lone attempt is not delayed: with nothing on its way, it goes out as soon as the code that asked has finished.
 */
import { answerOf, decisionOf, resultOf, resultOfOne } from '../model/result.ts';
import { atEndOfTurn } from '../model/runtime.ts';
import type { Answer } from '../model/store.ts';
import { refusalOf } from './refusals.ts';
import type { RunScript } from './run-script.ts';
import { slotOf } from './slot.ts';
import { type Ask, callOf, type Told } from './wire.ts';

/** What a client is like, as far as batches are concerned. */
export interface BatchOptions {
  /** Attempts in one call while few wait: few enough that the server can work on one call while the client makes the next. 1: always. */
  readonly most: number;
  /** Whether the keys of a call must share a cluster slot. */
  readonly bySlot: boolean;
  /**
   * Whether calls go out in several turns. For a client that writes all commands of a turn at once: the server would answer them at once as
   * well, and the two would wait for each other. Apart, one works while the other does.
   */
  readonly apart?: boolean;
  /** Whether each attempt goes by itself and immediately: where those who ask may not wait for each other. */
  readonly alone?: boolean;
}

interface Waiting extends Ask {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
  /** The next attempt on the same key, once they have been put together. */
  next?: Waiting;
}

/** Whatever waits: a script blocks the server while it runs. */
const MOST_EVER = 128;
/** When more wait than this many calls hold, calls get larger. */
const CALLS_AT_ONCE = 8;

export function batchedAttempts(
  run: RunScript,
  { most, bySlot, apart = false, alone = false }: BatchOptions,
): (ask: Ask) => Promise<Answer> {
  let waiting: Waiting[] = [];
  /** Made of what waited, and not sent yet. */
  const calls: (readonly Waiting[])[] = [];
  let underway = 0;

  const send = (group: readonly Waiting[]): void => {
    underway += 1;
    const { script, keys, args, read } = callOf(group, '');
    const fail = (error: unknown): void => {
      for (const { reject } of group) reject(error);
    };
    run(script, keys, args).then(
      (reply) => {
        underway -= 1;
        try {
          const { now, each } = read(reply);
          for (let at = 0; at < group.length; at += 1) settle(group[at]!, now, each[at]!);
        } catch (error) {
          fail(error);
        }
      },
      (error) => {
        underway -= 1;
        fail(error);
      },
    );
  };

  /** Many calls, of many policies for example, still take a few turns only. */
  const sendCalls = (): void => {
    const share = apart ? Math.ceil(calls.length / CALLS_AT_ONCE) : calls.length;
    for (const call of calls.splice(0, share)) send(call);
    if (calls.length > 0) atEndOfTurn(sendCalls);
  };

  const flush = (): void => {
    const attempts = waiting;
    waiting = [];
    const isSending = calls.length > 0;
    if (attempts.length === 1 && !isSending) {
      send(attempts);
      return;
    }
    for (const group of groups(attempts, bySlot)) {
      const size = most === 1 ? 1 : Math.min(MOST_EVER, Math.max(most, Math.ceil(group.length / CALLS_AT_ONCE)));
      if (group.length <= size) calls.push(group);
      else for (let at = 0; at < group.length; at += size) calls.push(group.slice(at, at + size));
    }
    if (!isSending) sendCalls();
  };

  return ({ group, rules, keys, costs, permit, isExtended }) =>
    new Promise((resolve, reject) => {
      if (alone) return send([{ group, rules, keys, costs, permit, isExtended, resolve, reject }]);
      waiting.push({ group, rules, keys, costs, permit, isExtended, resolve, reject });
      if (waiting.length === 1) (underway === 0 ? queueMicrotask : atEndOfTurn)(flush);
    });
}

function settle(ask: Waiting, now: number, verdicts: readonly Told[] | Error): void {
  if (verdicts instanceof Error) ask.reject(refusalOf(verdicts, true) ?? verdicts);
  else ask.resolve(answersOf(ask, now, verdicts));
}

/** The result that people read, of what a script decided. */
export function answersOf({ rules }: Ask, now: number, verdicts: readonly Told[]): Answer {
  const { changed } = verdicts[0]!;
  if (changed !== undefined) return resultOfOne({ ...decisionOf(rules[0]!, now, verdicts[0]!), changed }, 'store');
  if (rules.length === 1) return answerOf(rules[0]!, now, verdicts[0]!);
  return resultOf(
    verdicts.map((verdict, index) => decisionOf(rules[index]!, now, verdict)),
    'store',
  );
}

/** Attempts that can share a call: of the same policies, and in a cluster of one slot. */
function groups(attempts: readonly Waiting[], bySlot: boolean): Iterable<readonly Waiting[]> {
  if (attempts.length === 1) return [attempts];
  const { group } = attempts[0]!;
  const alike = attempts.every((attempt) => attempt.group === group);
  const byPolicies = alike ? [attempts] : grouped(attempts, (attempt) => attempt.group);
  const bySlots = bySlot ? byPolicies.flatMap((some) => grouped(some, ({ keys }) => slotOf(keys[0]!))) : byPolicies;
  return bySlots.map(togetherByKey);
}

/** Those on one key stand together, in order; as they came when no two are on the same. */
function togetherByKey(group: readonly Waiting[]): readonly Waiting[] {
  const last = new Map<string, Waiting>();
  const firsts: Waiting[] = [];
  for (const attempt of group) {
    const before = last.get(attempt.keys[0]!);
    if (before === undefined) firsts.push(attempt);
    else before.next = attempt;
    last.set(attempt.keys[0]!, attempt);
  }
  return firsts.length === group.length ? firsts : firsts.flatMap(chained);
}

function chained(first: Waiting): Waiting[] {
  const chain: Waiting[] = [];
  for (let attempt: Waiting | undefined = first; attempt !== undefined; attempt = attempt.next) chain.push(attempt);
  return chain;
}

function grouped<T, By>(items: readonly T[], by: (item: T) => By): T[][] {
  const found = new Map<By, T[]>();
  for (const item of items) {
    const group = found.get(by(item));
    if (group === undefined) found.set(by(item), [item]);
    else group.push(item);
  }
  return [...found.values()];
}
