/** What variants of a server cost a request, all in one process, in turns of a few milliseconds. */
import { startWorker } from './child.mjs';
import { mean, median, summary } from './statistics.mjs';

/** How many parts the rounds are told in, so that a spread can be seen, and that another commit can take turns. */
const PARTS = 8;
/** Its helpers would work in the turns of others. */
const FLAGS = ['--single-threaded-gc'];

/**
 * Medians of the turns of each part, and means of these. `added` is what comes to a bare request. With the build of another commit, the same
 * of it, measured in another process that takes every other part.
 */
export async function workOf(framework, variants, { rounds, requests, warmUp }, against) {
  const libraries = against === undefined ? [undefined] : [undefined, against];
  const workers = libraries.map((library) =>
    startWorker('./middleware-cpu-worker.mjs', { silent: true, against: library, flags: FLAGS }),
  );
  try {
    for (const worker of workers) await worker.ask({ do: 'open', framework, variants: ['bare', ...variants], warmUp });
    const parts = workers.map(() => []);
    for (let part = 0; part < PARTS; part += 1) {
      for (const [index, worker] of workers.entries()) {
        const turns = await worker.ask({ do: 'turns', rounds: Math.ceil(rounds / PARTS), requests });
        parts[index].push(
          new Map(turns.map(([variant, own]) => [variant, median(own.map(({ cpuMicros }) => cpuMicros))])),
        );
      }
    }
    return parts.map(rowsOf);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

function rowsOf(parts) {
  return [...parts[0].keys()].map((variant) => {
    const all = parts.map((part) => part.get(variant));
    const added = parts.map((part) => part.get(variant) - part.get('bare'));
    return {
      variant,
      cpuMicros: { ...summary(all), mean: mean(all) },
      added: { ...summary(added), mean: mean(added) },
    };
  });
}
