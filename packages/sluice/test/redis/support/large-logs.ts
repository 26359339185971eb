/**
 * Parity for sliding window logs that are large: Redis then moves single entries and not the whole log. The traffic of
 * compareTwins rarely has more than a few dozen admissions in a window, so here every window is full of them.
 */
import { type SlidingWindowLogPolicy, slidingWindowLog } from '../../../src/index.ts';
import type { RunScript } from '../../../src/redis/run-script.ts';
import { traceScript, traceWords, wordsOf } from '../../support/parity.ts';
import { type Random, randomFrom } from '../../support/random.ts';
import { typescriptTwin } from '../../support/reference.ts';

interface Attempt {
  readonly now: number;
  readonly cost: number;
  readonly policy: SlidingWindowLogPolicy;
}

/** Just below and above the 1024 bytes up to which a log moves whole, and around each width of an entry. */
const LIMITS = [170, 200, 255, 256, 300, 1000, 5000];
const WINDOWS_MS = [1, 1000, 60_000, 3_600_000, 86_400_000];
const LENGTH = 2500;

/** A window's worth of time passes in about as many attempts as the limit. Now and then the plan changes, or the clock steps back. */
function denseTrace(random: Random): Attempt[] {
  let policy = randomLog(random);
  let now = 1_763_280_000_123_456;
  return Array.from({ length: LENGTH }, () => {
    if (random.real() < 0.002) policy = randomLog(random);
    now = Math.max(0, now + denseStep(random, policy));
    return { now, cost: random.pick([1, 1, 1, 1, 0, 2, 7]), policy };
  });
}

function randomLog(random: Random): SlidingWindowLogPolicy {
  return slidingWindowLog({ name: 'plan', limit: random.pick(LIMITS), window: random.pick(WINDOWS_MS) });
}

function denseStep(random: Random, { limit, window }: SlidingWindowLogPolicy): number {
  const size = window * 1000;
  const dice = random.real();
  if (dice < 0.001) return -Math.floor(size * random.real() * 3);
  if (dice < 0.002) return Math.floor(size * random.real() * 2);
  return Math.floor((size / limit) * random.real() * 2.5);
}

export interface LargeLogReport {
  readonly steps: number;
  readonly difference: { typescript: string; lua: string; attempt: Attempt; step: number } | undefined;
}

export async function compareLargeLogs(run: RunScript, seed: number, traces: number): Promise<LargeLogReport> {
  const random = randomFrom(seed);
  for (let trace = 0; trace < traces; trace += 1) {
    const attempts = denseTrace(random);
    const script = traceScript(attempts[0]!.policy);
    const lua = String(await run(script, [`large:{${seed}:${trace}}`], attempts.flatMap(traceWords))).split('\n');
    const twin = typescriptTwin();
    const typescript = attempts.map(({ now, cost, policy }) => wordsOf(twin.attempt(now, cost, policy)));
    const step = typescript.findIndex((words, index) => words !== lua[index]);
    if (step >= 0) {
      const difference = { typescript: typescript[step]!, lua: lua[step]!, attempt: attempts[step]!, step };
      return { steps: trace * LENGTH + step, difference };
    }
  }
  return { steps: traces * LENGTH, difference: undefined };
}
