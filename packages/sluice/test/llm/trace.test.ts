/** A bucket of tokens serves more, and holds better, when a learned estimate is reserved than when requests are charged afterwards. */
import { expect, test } from 'vitest';
import { chargingAfterwards, madeTrace, reserving } from '../../../../bench/measure/llm-trace.mjs';

test('as installed, at least 1.7 times as many requests, with no worse minute', async () => {
  const trace = madeTrace();
  const [afterwards, reserved] = [await chargingAfterwards(trace), await reserving(trace)];
  expect(reserved.allowed / afterwards.allowed).toBeGreaterThanOrEqual(1.7);
  expect(reserved.worst).toBeLessThanOrEqual(afterwards.worst);
  // A bucket may be full when a minute begins, and refill once within it.
  expect(reserved.worst).toBeLessThanOrEqual(2);
});
