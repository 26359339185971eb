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
  const goaccess = await programs.findProgram({ name: 'goaccess', packageName: 'goaccess', trial: ['--version'] });
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
  progress.step?.('GoAccess');
  const report = join(file, '..', 'goaccess.json');
  const args = [file, '--log-format=COMBINED', '--no-global-config', '--no-progress', '-o', report];
  runs.GoAccess = [await runCommand(goaccess.file, args, goaccess.env)];
  const { requests, clients: seen } = JSON.parse(runs['sluice, one thread'][0].output);
  if (requests !== lines) throw new Error(`sluice read ${requests} requests of ${lines}`);
  const rows = Object.entries(runs).map(([name, each]) => rowOf(name, each, lines));
  const { size } = await stat(file);
  return { tables: [tableOf(rows, lines, seen, size)], reach: reachOf(rows, clients), rows };
}

function rowOf(name, runs, lines) {
  const seconds = runs.map((run) => run.seconds).sort((one, other) => one - other);
  const median = seconds[Math.floor(seconds.length / 2)];
  const cpuSeconds = Math.min(...runs.map((run) => run.cpuSeconds));
  return {
    name,
    seconds: median,
    cpuSeconds,
    perSecond: lines / median,
    megabytes: Math.max(...runs.map((run) => run.megabytes)),
  };
}

const rowNamed = (rows, name) => rows.find((row) => row.name === name);
const times = (rows, name, beside) => rowNamed(rows, beside).seconds / rowNamed(rows, name).seconds;

function tableOf(rows, lines, clients, bytes) {
  return {
    title: `${lines.toLocaleString('en-US')} lines (${Math.round(bytes / 2 ** 20)} MB), ${clients.toLocaleString('en-US')} clients`,
    columns: ['', 'seconds', 'CPU seconds', 'lines/s', 'times mawk', 'memory, MB'],
    rows: rows.map(({ name, seconds, cpuSeconds, perSecond, megabytes }) => [
      name,
      seconds.toFixed(2),
      cpuSeconds.toFixed(2),
      Math.round(perSecond).toLocaleString('en-US'),
      times(rows, name, 'mawk').toFixed(2),
      megabytes.toFixed(0),
    ]),
    notes: [
      'mawk counts lines by their first word (`{c[$1]++}`) and nothing else. GoAccess makes a report of everything in the log. Sluice sorts by time, decides a token bucket and its two bounds, and counts clients, paths, peaks and the course. Whole commands, start included; medians; GoAccess once.',
    ],
  };
}

function reachOf(rows, clients) {
  return [
    atLeast('backtest, one thread: times as fast as mawk', 0.6, [['', times(rows, 'sluice, one thread', 'mawk')]]),
    atLeast('backtest, two workers: times as fast as mawk', 1, [['', times(rows, 'sluice, two workers', 'mawk')]]),
    atLeast('backtest, one thread: times as fast as GoAccess', 15, [
      ['', times(rows, 'sluice, one thread', 'GoAccess')],
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
