/** Measures the contenders of one engine in a process of its own, which some of them need of another version of Node. Prints the cells as JSON. */
import { ENGINES } from '../contenders/engines.mjs';
import { closedLoop, keySequence } from './closed-loop.mjs';
import { processCpuMicros, serverCpuMicros } from './cpu.mjs';
import { interleave } from './rounds.mjs';
import { pairedRatio, summarise } from './statistics.mjs';

const { engine, env, pid, size, keys, inFlight } = JSON.parse(process.argv[2]);
const contenders = [];
for (const [name, open] of Object.entries(ENGINES[engine])) contenders.push({ name, check: await open(env) });

const cells = [];
for (const chains of inFlight) {
  const turn = async ({ check }, durationMs) => {
    const [cpu, serverCpu] = [processCpuMicros(), serverCpuMicros(pid)];
    const loop = await closedLoop({ check, nextKey: keySequence(keys), inFlight: chains, durationMs });
    return {
      ...loop,
      cpu: (processCpuMicros() - cpu) / loop.checks,
      serverCpu: (serverCpuMicros(pid) - serverCpu) / loop.checks,
    };
  };
  for (const contender of contenders) await turn(contender, size.warmMs);
  const records = await interleave({
    rounds: size.rounds,
    contenders,
    run: (contender) => turn(contender, size.sliceMs),
  });
  const rows = contenders.map((contender) => ({ name: contender.name, ...summarise(records.get(contender)) }));
  const peer = rows.at(-1);
  cells.push({
    inFlight: chains,
    rows: rows.map((row) => ({ ...row, vs: pairedRatio(row.perSecond, peer.perSecond).median })),
  });
}
console.log(JSON.stringify(cells));
process.exit(0);
