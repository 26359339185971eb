/** Random policies and traces through the TypeScript and the Lua twins; they must agree to the last digit. */
import { readFileSync } from 'node:fs';
import { type Policy, ruleOf } from '../../src/model/policy.ts';
import type { Verdict } from '../../src/model/result.ts';
import type { RunScript, Script } from '../../src/redis/run-script.ts';
import { severalSource } from '../../src/redis/scripts.ts';
import { sha1 } from '../../src/redis/sha1.ts';
import { argsOf } from '../../src/redis/wire.ts';
import {
  type AnyKind,
  KINDS,
  LATEST,
  type Random,
  randomCost,
  randomFrom,
  randomPolicy,
  randomStep,
} from './random.ts';
import { typescriptTwin } from './reference.ts';

const TRACE = readFileSync(new URL('trace.lua', import.meta.url), 'utf8');

/** A whole trace of attempts under policies of one kind in one call. */
export function traceScript(policy: Policy): Script {
  const source = severalSource(TRACE, [ruleOf(policy)], false);
  return { source, sha1: sha1(source) };
}

interface Attempt {
  readonly now: number;
  readonly cost: number;
  readonly policy: Policy;
}

/** Traffic on one key. Now and then the numbers of a policy with a name change under it, as a plan would. */
function randomTrace(random: Random, kind: AnyKind, length: number): Attempt[] {
  const name = random.real() < 0.6 ? 'plan' : undefined;
  let policy = randomPolicy(random, kind, name);
  let now = random.pick([0, 1_000_000, 1_763_280_000_123_456]);
  return Array.from({ length }, () => {
    if (name !== undefined && random.real() < 0.01) policy = randomPolicy(random, kind, name);
    now = Math.min(Math.max(0, now + randomStep(random, policy)), LATEST);
    return { now, cost: randomCost(random, ruleOf(policy).limit), policy };
  });
}

/** How trace.lua takes an attempt. */
export function traceWords({ now, cost, policy }: Attempt): string[] {
  return [String(now), '1', String(cost), ...argsOf(ruleOf(policy), String(now))];
}

/** How the scripts say an answer: remaining, resetAfter, and what else there is to say (see block.lua). */
export function wordsOf({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): string {
  const retry = retryAfter === Number.POSITIVE_INFINITY ? -1 : retryAfter;
  const more = allowed ? (delay > 0 ? -1 - delay : 0) : retry;
  return `${remaining} ${resetAfter} ${more}`;
}

function typescriptLines(trace: readonly Attempt[]): string[] {
  const twin = typescriptTwin();
  return trace.map(({ now, cost, policy }) => wordsOf(twin.attempt(now, cost, policy)));
}

async function luaLines(run: RunScript, key: string, trace: readonly Attempt[]): Promise<string[]> {
  const script = traceScript(trace[0]!.policy);
  return String(await run(script, [key], trace.flatMap(traceWords))).split('\n');
}

export interface ParityReport {
  readonly steps: number;
  /** The first step at which they differ, with the trace that leads to it. */
  readonly difference: { typescript: string; lua: string; step: number; kind: AnyKind; attempt: Attempt } | undefined;
}

const TRACE_LENGTH = 500;

export async function compareTwins(
  run: RunScript,
  seed: number,
  steps: number,
  kinds: readonly AnyKind[] = KINDS,
): Promise<ParityReport> {
  const random = randomFrom(seed);
  for (let done = 0, trace = 0; done < steps; done += TRACE_LENGTH, trace += 1) {
    const kind = kinds[trace % kinds.length]!;
    const attempts = randomTrace(random, kind, TRACE_LENGTH);
    const luaAnswer = luaLines(run, `parity:{${seed}:${trace}}`, attempts);
    // While the server works.
    const typescript = typescriptLines(attempts);
    const lua = await luaAnswer;
    const step = typescript.findIndex((text, index) => text !== lua[index]);
    if (step < 0) continue;
    const difference = { typescript: typescript[step]!, lua: lua[step]!, step, kind, attempt: attempts[step]! };
    return { steps: done + step, difference };
  }
  return { steps, difference: undefined };
}
