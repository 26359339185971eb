/** Asks the server: which script decides these attempts, and with which words. */
import type { Verdict } from '../model/store.ts';
import type { RunScript } from './run-script.ts';
import { decideLogScript, decideManyScripts, decideOneScripts, decideScript } from './scripts.generated.ts';
import { readLines, readMany, readOne, type WirePolicy } from './wire.ts';

/** One attempt, as the scripts need it: what tells its policies from others, and a key and a cost for each of them. */
export interface Ask {
  readonly identity: string;
  readonly policies: readonly WirePolicy[];
  readonly keys: readonly string[];
  readonly costs: readonly number[];
}

export interface Answers {
  /** The reading of the clock that decided, in microseconds. */
  readonly now: number;
  /** For each attempt its verdicts, or the error that is its alone. */
  readonly each: readonly (readonly Verdict[] | Error)[];
}

/** `now` is '' for the server's own clock. */
export async function askOne(run: RunScript, now: string, ask: Ask): Promise<Answers> {
  const [{ code, words }] = ask.policies as readonly [WirePolicy];
  if (ask.policies.length > 1 || code === 'l') return askMany(run, now, [ask]);
  const [cost] = ask.costs;
  const args = cost === 1 ? [now, ...words] : [now, ...words, String(cost)];
  return readOne(await run(decideOneScripts[code], ask.keys, args));
}

/** Attempts of the same policies. */
export async function askMany(run: RunScript, now: string, asks: readonly Ask[]): Promise<Answers> {
  const { policies } = asks[0]!;
  if (policies.length > 1) return askSeveral(run, now, asks, false);
  const { code, words } = policies[0]!;
  const keys = asks.map((ask) => ask.keys[0]!);
  const args = [now, ...words];
  if (!asks.every(({ costs }) => costs[0] === 1)) for (const { costs } of asks) args.push(String(costs[0]));
  const script = code === 'l' ? decideLogScript : decideManyScripts[code];
  return readMany(await run(script, keys, args), asks.length);
}

/** Attempts under several policies, or one that is only looked at. */
export async function askSeveral(run: RunScript, now: string, asks: readonly Ask[], dryRun: boolean): Promise<Answers> {
  const { policies } = asks[0]!;
  const keys = asks.flatMap((ask) => ask.keys);
  const args = [now, dryRun ? '1' : '', String(policies.length)];
  for (const { code, words } of policies) args.push(code, ...words);
  for (const { costs } of asks) for (const cost of costs) args.push(String(cost));
  return readLines(await run(decideScript, keys, args), asks.length, policies.length);
}
