/**
 * How much memory a server keeps for garbage. V8 lets the heap of a busy process grow to several times of what lives in it: a million calls over gRPC end
 * with some 175 MB where 85 do. Each stream of HTTP/2 outlives the collection that it is born in, so the old space fills with streams that are over.
 * Reasons and measurements: docs/decisions/0105.
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The old space is collected when it has grown by so many percent since the last time. */
const GROWTH_PERCENT = 40;
/** Both halves of the young space. Smaller ones cost CPU, larger ones are memory for nothing. */
const YOUNG_BYTES = 4 * 2 ** 20;
/** Whoever has said how large it may be is not contradicted. */
const CHOSEN = /--(?:max-semi-space-size|max-old-space-size|heap-growing-percent)/;

/** For the process that it is called in, from then on: call it before a server is loaded, which makes the heap grow. */
export function keepHeapSmall(nodeOptions: string | undefined): void {
  if (CHOSEN.test(nodeOptions ?? '')) return;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  // Of so small a space one thread copies what lives sooner than several agree on who does.
  setFlagsFromString('--no-parallel-scavenge');
  const watch = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young !== undefined && young.space_size < YOUNG_BYTES) return;
    // By this factor it grows when much has survived. It is read each time, unlike the size that it may have at most.
    setFlagsFromString('--semi-space-growth-factor=1');
    watch.disconnect();
  });
  watch.observe({ entryTypes: ['gc'] });
}
