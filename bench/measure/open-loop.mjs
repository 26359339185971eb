/**
 * Arrivals that do not wait for answers: each comes at its appointed time, and its latency counts from then, so that a contender that
 * falls behind cannot hide it. The loop turns without sleeping, because timers would hand out arrivals a millisecond's worth at a time.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { ascending, quantile } from './statistics.mjs';

const DRAIN_MS = 3000;

export async function openLoop({ check, nextKey, perSecond, durationMs }) {
  const total = Math.max(1, Math.floor((perSecond * durationMs) / 1000));
  const gapMs = 1000 / perSecond;
  const latencies = [];
  let failure;
  let arrived = 0;
  const start = performance.now();
  const arrive = (appointed) => {
    check(nextKey()).then(
      () => latencies.push(performance.now() - appointed),
      (error) => {
        failure ??= error;
      },
    );
  };
  while (arrived < total && failure === undefined) {
    const now = performance.now();
    while (arrived < total && start + arrived * gapMs <= now) {
      arrive(start + arrived * gapMs);
      arrived += 1;
    }
    await turn();
  }
  const answeredInTime = latencies.length;
  const offeredMs = performance.now() - start;
  const patience = performance.now() + DRAIN_MS;
  while (latencies.length < total && failure === undefined && performance.now() < patience) await turn();
  if (failure !== undefined) throw failure;
  if (latencies.length < total) throw new Error(`${total - latencies.length} of ${total} arrivals were never answered`);
  const sorted = ascending(latencies);
  return {
    total,
    answeredPerSecond: (answeredInTime / offeredMs) * 1000,
    backlog: total - answeredInTime,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    p999Ms: quantile(sorted, 0.999),
  };
}
