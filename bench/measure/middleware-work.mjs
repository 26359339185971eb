/** What variants of a server cost a request, all in one process, in turns of a few milliseconds. */
import { startWorker } from './child.mjs';
import { mean, median, summary } from './statistics.mjs';

/** How many parts the rounds are told in, so that a spread can be seen. */
const PARTS = 8;

/** Medians of the turns of each part, and means of these. `added` is what comes to a bare request. */
export async function workOf(framework, variants, size, against) {
  const worker = startWorker('./middleware-cpu-worker.mjs', { silent: true, against, flags: ['--single-threaded-gc'] });
  try {
    const records = new Map(await worker.ask({ do: 'measure', framework, variants: ['bare', ...variants], ...size }));
    const bare = partMedians(records.get('bare'));
    return [...records].map(([variant, own]) => {
      const parts = partMedians(own);
      const added = parts.map((micros, part) => micros - bare[part]);
      return {
        variant,
        cpuMicros: { ...summary(parts), mean: mean(parts) },
        added: { ...summary(added), mean: mean(added) },
      };
    });
  } finally {
    await worker.stop();
  }
}

function partMedians(records) {
  const size = Math.floor(records.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) =>
    median(records.slice(part * size, (part + 1) * size).map(({ cpuMicros }) => cpuMicros)),
  );
}
