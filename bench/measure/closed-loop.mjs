/** So many promise chains, each of which waits for its answer before it asks again, for so long. */
import { ascending, quantile } from './statistics.mjs';

/** The same keys in the same order for everyone: a full-period generator, so that no key is favoured. Each text is made anew, as those of requests are. */
export function keySequence(keys, start = 1) {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The low bits of such a generator repeat soon: take the high ones.
    return `user:${100_000 + Math.floor((state / 4_294_967_296) * keys)}`;
  };
}

export async function closedLoop({ check, nextKey, inFlight, durationMs }) {
  const latencies = [];
  let elsewhere = 0;
  const start = performance.now();
  const end = start + durationMs;
  const chain = async () => {
    let asked = performance.now();
    while (asked < end) {
      try {
        const { source } = await check(nextKey());
        if (source === 'fallback' || source === 'fail-closed') elsewhere += 1;
      } catch (rejection) {
        // The "no" of some is a rejection that is no error.
        if (rejection instanceof Error) throw rejection;
      }
      const answered = performance.now();
      latencies.push(answered - asked);
      asked = answered;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, chain));
  const elapsedMs = performance.now() - start;
  if (elsewhere > latencies.length / 200)
    throw new Error(`${elsewhere} of ${latencies.length} answers were given in place of the store`);
  const sorted = ascending(latencies);
  return {
    checks: latencies.length,
    perSecond: (latencies.length / elapsedMs) * 1000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    p999Ms: quantile(sorted, 0.999),
  };
}

/** So many checks, whatever the time they take: for filling. */
export async function runAll({ check, count, keyOf, inFlight }) {
  let next = 0;
  const chain = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await check(keyOf(index));
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, chain));
}
