/**
 * Attempts that come in one turn of the event loop go out together: one script call decides many keys, each by itself and each
 * key's attempts in order. What a command costs is mostly not the decision, so this saves client and server most of their work.
 * A lone attempt is not delayed: with nothing on its way, it goes out as soon as the code that asked has finished.
 */
import type { Policy } from '../model/policy.ts';
import type { Verdict, Verdicts } from '../model/store.ts';
import type { RunScript } from './run-script.ts';
import { decideManyScripts, decideOneScripts } from './scripts.generated.ts';
import { slotOf } from './slot.ts';
import { readAnswers, readManyAnswers, wirePolicy } from './wire.ts';

/** What a client is like, as far as batches are concerned. */
export interface BatchOptions {
  /** Attempts in one call at most: few enough that the server can work on one call while the client makes the next. */
  readonly most: number;
  /** Whether the keys of a call must share a cluster slot. */
  readonly bySlot: boolean;
}

interface Waiting {
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
  resolve(verdicts: Verdicts): void;
  reject(error: unknown): void;
}

export type Attempt = (key: string, policy: Policy, cost: number) => Promise<Verdicts>;

export function batchedAttempts(run: RunScript, { most, bySlot }: BatchOptions): Attempt {
  let waiting: Waiting[] = [];
  let underway = 0;

  const send = async (group: readonly Waiting[]): Promise<void> => {
    underway += 1;
    try {
      const { now, each } = await ask(run, group);
      for (const [index, attempt] of group.entries()) settle(attempt, now, each[index]!);
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      underway -= 1;
    }
  };

  const flush = (): void => {
    const attempts = waiting;
    waiting = [];
    for (const group of groups(attempts, bySlot)) {
      for (let at = 0; at < group.length; at += most) void send(group.slice(at, at + most));
    }
  };

  return (key, policy, cost) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, policy, cost, resolve, reject });
      if (waiting.length === 1) (underway === 0 ? queueMicrotask : atEndOfTurn)(flush);
    });
}

/** Node, Bun and Deno can say when everything that has arrived was looked at; elsewhere the next best moment. */
const { setImmediate: atEndOfTurn = queueMicrotask } = globalThis as { setImmediate?: (task: () => void) => void };

async function ask(
  run: RunScript,
  group: readonly Waiting[],
): Promise<{ now: number; each: readonly (Verdict | Error)[] }> {
  const { code, words } = wirePolicy(group[0]!.policy);
  if (group.length === 1) {
    const { key, cost } = group[0]!;
    const { now, verdicts } = readAnswers(
      await run(decideOneScripts[code], [key], ['', '', code, String(cost), ...words]),
      1,
    );
    return { now, each: verdicts };
  }
  const keys = group.map(({ key }) => key);
  const args = ['', ...words, ...group.map(({ cost }) => String(cost))];
  return readManyAnswers(await run(decideManyScripts[code], keys, args), group.length);
}

function settle({ resolve, reject }: Waiting, now: number, answer: Verdict | Error): void {
  if (answer instanceof Error) reject(answer);
  else resolve({ now, verdicts: [answer], source: 'store' });
}

/** Attempts that can share a call: of one policy, and in a cluster of one slot. Those on one key stand together, in order. */
function groups(attempts: readonly Waiting[], bySlot: boolean): Iterable<readonly Waiting[]> {
  if (attempts.length === 1) return [attempts];
  const byPolicy = grouped(attempts, ({ policy }) => wirePolicy(policy).identity);
  if (!bySlot) return Array.from(byPolicy, togetherByKey);
  return byPolicy.flatMap((group) => grouped(group, ({ key }) => slotOf(key))).map(togetherByKey);
}

function togetherByKey(group: readonly Waiting[]): readonly Waiting[] {
  return grouped(group, ({ key }) => key).flat();
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
