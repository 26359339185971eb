/** Contenders within one process: one of them alone, or all of them, warm. */
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { memoryContender } from '../contenders/memory.mjs';
import { answerRequests } from './child.mjs';
import { keySequence } from './closed-loop.mjs';
import { processCpuMicros } from './cpu.mjs';

const BATCH = 64;
/** Timers of contenders that use them run when the loop lets go of the thread. */
const CHECKS_A_TURN = 2048;

const opened = new Map();
let keys;

const heapBytes = () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Opens each and gives it `each` attempts for every key, one after the other. Returns the bytes of heap a key. */
async function open({ names, cell, each = 1 }) {
  keys = cell.keys;
  const bytes = {};
  for (const name of names) {
    const contender = memoryContender(name);
    const loops = await import(`./memory-loop.mjs?${encodeURIComponent(name)}`);
    const before = heapBytes();
    const own = { ...(await contender.open(cell)), isSynchronous: contender.synchronous === true, loops };
    opened.set(name, own);
    for (let round = 0; round < each; round += 1) await fill(own);
    await turn();
    bytes[name] = (heapBytes() - before) / keys;
  }
  return bytes;
}

async function fill(own) {
  let filled = 0;
  const nextKey = () => `user:${100_000 + filled++}`;
  while (filled < keys) {
    await some(own, nextKey, Math.min(CHECKS_A_TURN, keys - filled));
    await turn();
  }
}

const some = ({ check, isSynchronous, loops }, nextKey, amount) =>
  isSynchronous ? loops.synchronous(check, nextKey, amount) : loops.awaited(check, nextKey, amount);

/** For so long, or so many attempts. */
async function run({ name, durationMs = Number.POSITIVE_INFINITY, amount = Number.POSITIVE_INFINITY }) {
  const own = opened.get(name);
  const nextKey = keySequence(keys, process.hrtime()[1]);
  const cpuBefore = processCpuMicros();
  const start = performance.now();
  const end = start + durationMs;
  let checks = 0;
  while (checks < amount && performance.now() < end) {
    await some(own, nextKey, CHECKS_A_TURN);
    checks += CHECKS_A_TURN;
    await turn();
  }
  const perSecond = (checks / (performance.now() - start)) * 1000;
  return { perSecond, cpuMicros: (processCpuMicros() - cpuBefore) / checks };
}

/**
 * Seven in ten attempts on the keys that are there, two on keys that come and are over in a second, one on one key that is always there.
 * The longest batch of 64 attempts is the longest pause: on the wall clock, which also sees other processes take the core away, and
 * as work of this process, which is the lesser of wall and CPU time (the CPU time of GC helper threads counts against the contender).
 */
async function pause({ name, durationMs }) {
  const { check, churn } = opened.get(name);
  let longestGcMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
  });
  observer.observe({ entryTypes: ['gc'] });
  const nextKey = keySequence(keys, 7);
  const end = performance.now() + durationMs;
  let [longestWallMs, longestOwnMs, serial] = [0, 0, 0];
  let wall = performance.now();
  let cpu = processCpuMicros();
  while (wall < end) {
    for (let i = 0; i < BATCH; i += 1) {
      const kind = i % 10;
      serial += 1;
      if (kind < 7) await check(nextKey());
      else if (kind < 9) await churn(`visitor:${serial}`);
      else await check('user:100000');
    }
    await turn();
    const wallNow = performance.now();
    const cpuNow = processCpuMicros();
    longestWallMs = Math.max(longestWallMs, wallNow - wall);
    longestOwnMs = Math.max(longestOwnMs, Math.min(wallNow - wall, (cpuNow - cpu) / 1000));
    wall = wallNow;
    cpu = cpuNow;
  }
  await turn();
  observer.disconnect();
  return { longestWallMs, longestOwnMs, longestGcMs };
}

answerRequests({ open, run, pause });
