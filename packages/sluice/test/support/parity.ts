/** Random policies and traces through the TypeScript and the Lua twins; they must agree to the last digit. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleLua, sha1 } from '../../../../tools/bundle-lua.mjs';
import { limitOf, type Policy } from '../../src/model/policy.ts';
import type { Verdict } from '../../src/model/store.ts';
import type { RunScript, Script } from '../../src/redis/run-script.ts';
import { wirePolicy } from '../../src/redis/wire.ts';
import { KINDS, type Kind, LATEST, type Random, randomCost, randomFrom, randomPolicy, randomStep } from './random.ts';
import { typescriptTwin } from './reference.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A whole trace of attempts in one call. */
export function traceScript(): Script {
  const source = bundleLua(here('../../src'), 'trace', { text: readFileSync(here('trace.lua'), 'utf8') });
  return { source, sha1: sha1(source) };
}

interface Attempt {
  readonly now: number;
  readonly cost: number;
  readonly policy: Policy;
}

/** Traffic on one key. Now and then the policy's numbers change under it, as a plan would. */
function randomTrace(random: Random, kind: Kind, length: number): Attempt[] {
  let policy = randomPolicy(random, kind);
  let now = random.pick([0, 1_000_000, 1_763_280_000_123_456]);
  return Array.from({ length }, () => {
    if (random.real() < 0.01) policy = randomPolicy(random, kind);
    now = Math.min(Math.max(0, now + randomStep(random, policy)), LATEST);
    return { now, cost: randomCost(random, limitOf(policy)), policy };
  });
}

/** How trace.lua takes an attempt. */
export function traceWords({ now, cost, policy }: Attempt): string[] {
  const { code, words } = wirePolicy(policy);
  return [String(now), code, String(cost), ...words];
}

/** How the scripts say an answer: remaining, resetAfter, and what else there is to say (see decide-one.lua). */
export function wordsOf({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): string {
  const retry = retryAfter === Number.POSITIVE_INFINITY ? -1 : retryAfter;
  const more = allowed ? (delay > 0 ? -1 - delay : 0) : retry;
  return `${remaining} ${resetAfter} ${more}`;
}

function typescriptLines(trace: readonly Attempt[]): string[] {
  const twin = typescriptTwin();
  return trace.map(({ now, cost, policy }) => wordsOf(twin.attempt(now, cost, policy)));
}

async function luaLines(run: RunScript, script: Script, key: string, trace: readonly Attempt[]): Promise<string[]> {
  return String(await run(script, [key], trace.flatMap(traceWords))).split('\n');
}

export interface ParityReport {
  readonly steps: number;
  /** The first step at which they differ, with the trace that leads to it. */
  readonly difference: { typescript: string; lua: string; step: number; kind: Kind; attempt: Attempt } | undefined;
}

const TRACE_LENGTH = 500;

export async function compareTwins(run: RunScript, seed: number, steps: number): Promise<ParityReport> {
  const random = randomFrom(seed);
  const script = traceScript();
  for (let done = 0, trace = 0; done < steps; done += TRACE_LENGTH, trace += 1) {
    const kind = KINDS[trace % KINDS.length]!;
    const attempts = randomTrace(random, kind, TRACE_LENGTH);
    const luaAnswer = luaLines(run, script, `parity:{${seed}:${trace}}`, attempts);
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
