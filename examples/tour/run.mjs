/** Asks every algorithm about every request, and counts what came of it. */

import { createLimiter } from 'sluice';
import { algorithms } from './algorithms.mjs';
import { moments } from './traffic.mjs';

const KEY = 'visitor';
const MICROS_PER_SECOND = 1_000_000;

/** One run for each algorithm, in their order. The clock stands still but for what is set here: nobody waits. */
export async function runAll(store, clock) {
  const runs = algorithms.map((algorithm) => ({
    algorithm,
    limiter: createLimiter({ policy: algorithm.policy, store }),
    answers: [],
  }));
  const cleanUp = () => Promise.all(runs.map(({ limiter }) => limiter.reset(KEY)));
  try {
    await askAll(runs, clock);
  } catch (error) {
    // What went wrong first is what there is to tell.
    await cleanUp().catch(() => undefined);
    throw error;
  }
  await cleanUp();
  return runs.map(({ algorithm, answers }) => ({ algorithm, answers, summary: summaryOf(answers) }));
}

async function askAll(runs, clock) {
  for (const moment of moments) {
    clock.set(moment);
    await Promise.all(
      runs.map(async ({ limiter, answers }) => answers.push(answerOf(moment, await limiter.attempt(KEY)))),
    );
  }
}

/** Seconds, as in Sluice's results. `proceedsAt` is when the caller may go ahead: at once, after the delay, or never. */
function answerOf(moment, { allowed, remaining, retryAfter, resetAfter, delay }) {
  const at = moment / 1000;
  return {
    at,
    outcome: outcomeOf(allowed, delay),
    remaining,
    retryAfter,
    resetAfter,
    delay,
    proceedsAt: allowed ? micros(at + (delay ?? 0)) / MICROS_PER_SECOND : null,
  };
}

function outcomeOf(allowed, delay) {
  if (!allowed) return 'denied';
  return delay === null ? 'allowed' : 'delayed';
}

function summaryOf(answers) {
  const count = (outcome) => answers.filter((answer) => answer.outcome === outcome).length;
  return {
    allowed: count('allowed'),
    denied: count('denied'),
    delayed: count('delayed'),
    mostInOneSecond: mostInOneSecond(answers),
  };
}

/** The most that went ahead within any one second. It is enough to look at the seconds that start when one does. */
function mostInOneSecond(answers) {
  // In whole microseconds: a slot exactly one second after another lies outside its window, whatever the last digit says.
  const starts = answers.flatMap(({ proceedsAt }) => (proceedsAt === null ? [] : [micros(proceedsAt)]));
  const within = (from) => starts.filter((start) => start >= from && start < from + MICROS_PER_SECOND).length;
  return Math.max(0, ...starts.map(within));
}

function micros(seconds) {
  return Math.round(seconds * MICROS_PER_SECOND);
}
