/** Sluice's memory store under one growing number, in a process of its own. */
import { setImmediate as turn } from 'node:timers/promises';
import { createLimiter, memoryStore } from 'sluice';
import { DAY_MS, policyOf } from '../contenders/policies.mjs';
import { answerRequests } from './child.mjs';
import { keySequence } from './closed-loop.mjs';
import { processCpuMicros } from './cpu.mjs';

let limiter;
let nextKey;
let cost;

async function open({ algorithm, keys, policies, limit, cost: units }) {
  const store = memoryStore({ maxKeys: Math.max(1_000_000, keys * policies * 2) });
  cost = units;
  limiter = createLimiter({
    policies: Array.from({ length: policies }, (_, i) =>
      policyOf(algorithm, { limit: limit + i, windowMs: DAY_MS, name: `rule-${i}` }),
    ),
    store,
  });
  for (let i = 0; i < keys; i += 1) {
    await limiter.attempt(`user:${100_000 + i}`);
    if (i % 2048 === 0) await turn();
  }
  nextKey = keySequence(keys, 3);
}

async function run({ durationMs }) {
  const before = processCpuMicros();
  const end = performance.now() + durationMs;
  const options = { cost };
  let checks = 0;
  while (performance.now() < end) {
    for (let i = 0; i < 64; i += 1) await limiter.attempt(nextKey(), options);
    checks += 64;
  }
  return { micros: (processCpuMicros() - before) / checks };
}

answerRequests({ open, run });
