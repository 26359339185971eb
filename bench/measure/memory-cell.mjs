/**
 * One cell of a table of the memory store: so many keys, states that last or recover. Each contender is measured twice, in a process of its
 * own and in one where all algorithms and several peers are warm, and all of these take turns.
 */
import { EVERYONE } from '../contenders/memory.mjs';
import { startWorker } from './child.mjs';
import { interleave } from './rounds.mjs';
import { pairedRatio, summarise } from './statistics.mjs';

const WORKER = './memory-worker.mjs';
export const PROCESSES = ['own', 'mixed'];

export async function measureCell({ cell, names, size, progress, each, amount, warmAmount, afterwards, against }) {
  const workers = [];
  const start = async (request, options) => {
    const worker = startWorker(WORKER, options);
    workers.push(worker);
    return { worker, bytes: await worker.ask({ do: 'open', cell, each, ...request }) };
  };
  try {
    const contenders = [];
    for (const name of names) {
      progress.step(`${name} fills`);
      const { worker, bytes } = await start({ names: [name] });
      contenders.push({ name, process: 'own', worker, bytes: bytes[name] });
    }
    progress.step('a process with all of them fills');
    const everyone = [...new Set([...EVERYONE, ...names])];
    const { worker: mixed } = await start({ names: everyone });
    for (const name of everyone) await mixed.ask({ do: 'run', name, ...warmUp(size, warmAmount) });
    for (const name of names) contenders.push({ name, process: 'mixed', worker: mixed });
    if (against !== undefined)
      contenders.push(...(await others({ start, against, everyone, names, size, warmAmount })));
    for (const { worker, name, process } of contenders) {
      if (process === 'own') await worker.ask({ do: 'run', name, ...warmUp(size, warmAmount) });
    }
    const slice = amount === undefined ? { durationMs: size.sliceMs } : { amount };
    const records = await interleave({
      rounds: size.rounds,
      contenders,
      run: ({ worker, name }) => worker.ask({ do: 'run', name, ...slice }),
      onTurn: ({ name, process }, round) => progress.step(`round ${round + 1}, ${name} (${process})`),
    });
    const more = await afterwards?.(contenders.filter(({ process }) => process === 'own'));
    return { ...cell, rows: names.map((name) => rowOf(name, contenders, records)), ...more };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

const warmUp = (size, amount) => (amount === undefined ? { durationMs: size.sliceMs * 2 } : { amount });

/** The same of another commit: one process with all of them, as there is one of this tree. */
async function others({ start, against, everyone, names, size, warmAmount }) {
  const own = names.filter((name) => name.startsWith('Sluice'));
  const { worker } = await start({ names: everyone }, { against });
  for (const name of everyone) await worker.ask({ do: 'run', name, ...warmUp(size, warmAmount) });
  return own.map((name) => ({ name, process: 'other commit', worker }));
}

function rowOf(name, contenders, records) {
  const of = (process) => contenders.find((one) => one.name === name && one.process === process);
  const measured = contenders.filter((one) => one.name === name);
  const parts = measured.map((one) => [one.process, summarise(records.get(one))]);
  return { name, bytes: of('own')?.bytes, ...Object.fromEntries(parts) };
}

/** How many times less CPU than the other, in the same process setting, within each round. */
export const cpuRatio = (row, other, process) => pairedRatio(other[process].cpuMicros, row[process].cpuMicros).median;
export const rowNamed = ({ rows }, name) => rows.find((row) => row.name === name);

/** Of each row that was measured at another commit too: a name, and how many times less CPU it takes than there. */
export const besideOf = (cells) =>
  cells.flatMap(({ keys, state, outcome, rows }) =>
    rows
      .filter((row) => row['other commit'] !== undefined)
      .map((row) => [
        `${row.name}, ${keys} keys, ${outcome === 'denied' ? 'denied' : state}`,
        pairedRatio(row['other commit'].cpuMicros, row.mixed.cpuMicros).median,
      ]),
  );
