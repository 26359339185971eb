/** One in-process contender in a process of its own. */
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { memoryContender } from '../contenders/memory.mjs';
import { answerRequests } from './child.mjs';
import { keySequence } from './closed-loop.mjs';

const BATCH = 64;
/** Timers of contenders that use them run when the loop lets go of the thread. */
const CHECKS_A_TURN = 2048;

let contender;
let opened;
let keys;
let filled = 0;

const microsOf = ({ user, system }) => user + system;

const heapBytes = () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

async function open(request) {
  contender = memoryContender(request.contender);
  keys = request.keys;
  opened = await contender.open(request);
}

/** One attempt for each key. */
async function fill() {
  const before = heapBytes();
  const { check } = opened;
  for (; filled < keys; filled += 1) {
    const answer = check(`user:${100_000 + filled}`);
    if (!contender.atOnce || filled % BATCH === BATCH - 1) await answer;
    if (filled % CHECKS_A_TURN === 0) await turn();
  }
  await turn();
  return { bytesPerKey: (heapBytes() - before) / keys };
}

async function run({ durationMs }) {
  const { check } = opened;
  const nextKey = keySequence(keys, process.hrtime()[1]);
  const cpuBefore = microsOf(process.cpuUsage());
  const start = performance.now();
  const end = start + durationMs;
  let checks = 0;
  while (performance.now() < end) {
    for (let i = 0; i < CHECKS_A_TURN; i += BATCH) {
      if (contender.synchronous) for (let j = 0; j < BATCH; j += 1) check(nextKey());
      else if (contender.atOnce) await Promise.all(Array.from({ length: BATCH }, () => check(nextKey())));
      else for (let j = 0; j < BATCH; j += 1) await check(nextKey());
      checks += BATCH;
      if (performance.now() >= end) break;
    }
    await turn();
  }
  const perSecond = (checks / (performance.now() - start)) * 1000;
  return { perSecond, cpuMicros: (microsOf(process.cpuUsage()) - cpuBefore) / checks };
}

/**
 * Seven in ten attempts on the keys that are there, two on keys that come and are over in a second, one on a key that is denied.
 * The longest batch of 64 attempts is the longest pause: on the wall clock, which also sees other processes take the core away, and
 * as work of this process, which is the lesser of wall and CPU time (the CPU time of GC helper threads counts against the contender).
 */
async function pause({ durationMs, limit }) {
  const { check, churn } = opened;
  for (let i = 0; i < limit + 1; i += 1) await check('blocked');
  let longestGcMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  const nextKey = keySequence(keys, 7);
  const end = performance.now() + durationMs;
  let [longestWallMs, longestOwnMs, serial] = [0, 0, 0];
  let wall = performance.now();
  let cpu = microsOf(process.cpuUsage());
  while (wall < end) {
    for (let i = 0; i < BATCH; i += 1) {
      const kind = i % 10;
      serial += 1;
      if (kind < 7) await check(nextKey());
      else if (kind < 9) await churn(`visitor:${serial}`);
      else await check('blocked');
    }
    await turn();
    const wallNow = performance.now();
    const cpuNow = microsOf(process.cpuUsage());
    longestWallMs = Math.max(longestWallMs, wallNow - wall);
    longestOwnMs = Math.max(longestOwnMs, Math.min(wallNow - wall, (cpuNow - cpu) / 1000));
    wall = wallNow;
    cpu = cpuNow;
  }
  await turn();
  observer.disconnect();
  return { longestWallMs, longestOwnMs, longestGcMs };
}

answerRequests({ open, fill, run, pause });
