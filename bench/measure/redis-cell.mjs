/** Contenders on one Redis server, in turns: rates, latencies and CPU from the process that asks, costs from the server. */
import { BASELINE, redisContender } from '../contenders/redis.mjs';
import { startWorker } from './child.mjs';
import { serverCost } from './redis-server.mjs';
import { interleave } from './rounds.mjs';
import { pairedRatio, summarise } from './statistics.mjs';

const WORKER = './redis-worker.mjs';
export const KEYS = 10_000;
const LIMIT = 10_000;

/** All contenders of a client in one process, and those of another commit in another. Resolves to `turns` for so many in flight. */
export async function openClient({ redis, client, names, against }) {
  const workers = [startWorker(WORKER), ...(against === undefined ? [] : [startWorker(WORKER, { against })])];
  const [own, other] = workers;
  const opening = { do: 'open', client, port: redis.port, limit: LIMIT };
  await own.ask({ ...opening, names });
  const contenders = names.map((name) => ({ name, worker: own }));
  if (other !== undefined) {
    const theirs = names.filter((name) => name.startsWith('Sluice'));
    await other.ask({ ...opening, names: theirs });
    contenders.push(...theirs.map((name) => ({ name, worker: other, isOther: true })));
  }
  return {
    turns: (inFlight, size, progress) => turns({ redis, contenders, inFlight, size, progress }),
    close: () => Promise.all(workers.map((worker) => worker.stop())),
  };
}

async function turns({ redis, contenders, inFlight, size, progress }) {
  const turn = async ({ worker, name }, round, durationMs) => {
    const asking = { do: 'run', name, keys: KEYS, start: round + 1, inFlight, durationMs };
    const { result, cost } = await serverCost(redis, () => worker.ask(asking));
    const { checks, ...rates } = result;
    return {
      ...rates,
      wallMicros: (1e6 * inFlight) / rates.perSecond,
      serverMicros: cost.cpuMicros / checks,
      scriptCalls: cost.scriptCalls / checks,
      inputBytes: cost.inputBytes / checks,
      outputBytes: cost.outputBytes / checks,
    };
  };
  for (const contender of contenders) await turn(contender, 0, size.warmMs);
  const records = await interleave({
    rounds: size.rounds,
    contenders,
    run: (contender, round) => turn(contender, round, size.sliceMs),
    onTurn: ({ name }, round) => progress.step(`round ${round + 1}, ${name}`),
  });
  return rowsOf(contenders, records);
}

/** Times of the baseline: below one is less. `vsOther` compares with the same of the other commit. */
function rowsOf(contenders, records) {
  const own = contenders.filter(({ isOther }) => !isOther);
  const of = (contender) => summarise(records.get(contender));
  const baseline = of(own.find(({ name }) => name === BASELINE));
  return own.map((contender) => {
    const { name } = contender;
    const row = of(contender);
    const other = contenders.find((one) => one.isOther && one.name === name);
    const ratios = (to) =>
      Object.fromEntries(
        ['wallMicros', 'clientMicros', 'serverMicros'].map((part) => [part, pairedRatio(row[part], to[part]).median]),
      );
    return {
      name,
      algorithm: redisContender(name).algorithm,
      ...row,
      vs: ratios(baseline),
      vsOther: other === undefined ? undefined : ratios(of(other)),
    };
  });
}

/** Of each row that was measured at another commit too, how many times less it takes than there, of each of the three. */
export const besideOf = (cells) =>
  cells.flatMap(({ client, inFlight, rows }) =>
    rows
      .filter(({ vsOther }) => vsOther !== undefined)
      .flatMap(({ name, vsOther }) =>
        Object.entries(vsOther).map(([part, times]) => [
          `${name}, ${client}, ${inFlight} in flight, ${part}`,
          1 / times,
        ]),
      ),
  );
