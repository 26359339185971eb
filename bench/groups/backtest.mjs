/** `sluice backtest` beside mawk, which only counts lines by address, and beside GoAccess, which makes a whole report: the same file, in the same rounds. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { writeAccessLog } from '../measure/access-log.mjs';
import { runCommand } from '../measure/command.mjs';
import { atLeast, atMost } from '../report/reach.mjs';

const PROGRAMS = fileURLToPath(new URL('../../tools/servers/programs.ts', import.meta.url));
const SLUICE = fileURLToPath(new URL('../../packages/server/bin/sluice.mjs', import.meta.url));
const POLICY = ['--policy', 'token-bucket capacity=100 refillRate=10/s', '--json'];
const SIZES = {
  quick: { lines: 500_000, clients: 50_000, rounds: 3 },
  full: { lines: 10_000_000, clients: 1_000_000, rounds: 3 },
};

export const group = {
  title: 'Backtest of an access log',
  about: 'sluice backtest beside mawk and GoAccess on a log made here (10 million lines, 2 GB; about 15 minutes)',
  place: 130,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    try {
      progress.group(`backtest, ${size.lines} lines`);
      const file = join(folder, 'access.log');
      progress.step?.('writing the log');
      writeAccessLog(file, size.lines, size.clients);
      return await measure(file, size, progress);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

async function measure(file, { lines, clients, rounds }, progress) {
  const { module: programs } = await runnerImport(PROGRAMS);
  const mawk = await programs.findProgram({ name: 'mawk', packageName: 'mawk', trial: ['1', '/dev/null'] });
  const goaccess = await programs
    .findProgram({ name: 'goaccess', packageName: 'goaccess', trial: ['--version'] })
    .catch((error) => void progress.step?.(`without GoAccess: ${error.message}`));
  const contenders = {
    mawk: () => runCommand(mawk.file, ['{c[$1]++}', file], mawk.env),
    'sluice, one thread': () => runCommand(process.execPath, [SLUICE, 'backtest', file, ...POLICY, '--workers', '1']),
    'sluice, two workers': () => runCommand(process.execPath, [SLUICE, 'backtest', file, ...POLICY, '--workers', '2']),
  };
  const runs = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(contenders)) {
      progress.step?.(name);
      runs[name].push(await run());
    }
  }
  if (goaccess !== undefined) {
    progress.step?.('GoAccess');
    const report = join(file, '..', 'goaccess.json');
    const args = [file, '--log-format=COMBINED', '--no-global-config', '--no-progress', '-o', report];
    runs.GoAccess = [await runCommand(goaccess.file, args, goaccess.env)];
  }
  const answers = ['sluice, one thread', 'sluice, two workers'].map((name) => runs[name][0].output);
  if (answers[0] !== answers[1]) throw new Error('one thread and two workers say different things');
  const { requests, clients: seen } = JSON.parse(answers[0]);
  if (requests !== lines) throw new Error(`sluice read ${requests} requests of ${lines}`);
  const rows = Object.entries(runs).map(([name, each]) => rowOf(name, each, lines));
  const { size } = await stat(file);
  return { tables: [tableOf(rows, lines, seen, size)], reach: reachOf(rows, clients), rows };
}

function rowOf(name, runs, lines) {
  const seconds = runs.map((run) => run.seconds).sort((one, other) => one - other);
  const median = seconds[Math.floor(seconds.length / 2)];
  const cpu = runs.map((run) => run.cpuSeconds).sort((one, other) => one - other);
  const cpuSeconds = cpu[Math.floor(cpu.length / 2)];
  return {
    name,
    seconds: median,
    cpuSeconds,
    perSecond: lines / median,
    megabytes: Math.max(...runs.map((run) => run.megabytes)),
  };
}

const rowNamed = (rows, name) => rows.find((row) => row.name === name);
const times = (rows, name, beside) => (rowNamed(rows, beside)?.seconds ?? Number.NaN) / rowNamed(rows, name).seconds;
const timesCpu = (rows, name, beside) =>
  (rowNamed(rows, beside)?.cpuSeconds ?? Number.NaN) / rowNamed(rows, name).cpuSeconds;

function tableOf(rows, lines, clients, bytes) {
  return {
    title: `${lines.toLocaleString('en-US')} lines (${Math.round(bytes / 2 ** 20)} MB), ${clients.toLocaleString('en-US')} clients`,
    columns: ['', 'seconds', 'CPU seconds', 'lines/s', 'times mawk', 'times mawk by CPU', 'memory, MB'],
    rows: rows.map(({ name, seconds, cpuSeconds, perSecond, megabytes }) => [
      name,
      seconds.toFixed(2),
      cpuSeconds.toFixed(2),
      Math.round(perSecond).toLocaleString('en-US'),
      times(rows, name, 'mawk').toFixed(2),
      timesCpu(rows, name, 'mawk').toFixed(2),
      megabytes.toFixed(0),
    ]),
    notes: [
      'mawk counts lines by their first word (`{c[$1]++}`) and nothing else. GoAccess makes a report of everything in the log. Sluice sorts by time, decides a token bucket and its two bounds, and counts clients, paths, peaks and the course. Whole commands, start included; medians of rounds in turn; GoAccess once. Where others use the cores too, only the CPU seconds say something: two workers have two cores for theirs.',
    ],
  };
}

function reachOf(rows, clients) {
  return [
    atLeast('backtest, one thread: times as fast as mawk', 0.6, [
      ['wall', times(rows, 'sluice, one thread', 'mawk')],
      ['CPU', timesCpu(rows, 'sluice, one thread', 'mawk')],
    ]),
    atLeast('backtest, two workers: times as fast as mawk', 1, [['wall', times(rows, 'sluice, two workers', 'mawk')]]),
    atLeast('backtest, two workers: mawk by half of their CPU time', 1, [
      ['CPU', timesCpu(rows, 'sluice, two workers', 'mawk') * 2],
    ]),
    atLeast('backtest, one thread: times as fast as GoAccess', 15, [
      ['wall', times(rows, 'sluice, one thread', 'GoAccess')],
      ['CPU', timesCpu(rows, 'sluice, one thread', 'GoAccess')],
    ]),
    ...(clients >= 1_000_000
      ? [
          atMost('backtest: MB with a million clients', 300, [
            ['one thread', rowNamed(rows, 'sluice, one thread').megabytes],
            ['two workers', rowNamed(rows, 'sluice, two workers').megabytes],
          ]),
        ]
      : []),
  ];
}
