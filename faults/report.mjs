/** The table, for a terminal and for docs/faults.md, and the conditions it was measured under. */

import { readFileSync, writeFileSync } from 'node:fs';
import { describeMachine } from '../bench/measure/machine.mjs';
import { WIDTH } from '../tools/docs/checklist.mjs';
import { wrapped } from '../tools/docs/wrap.mjs';
import { LIMIT, PATTERN, PER_SECOND, WINDOW_MS } from './traffic.mjs';

const PAGE = new URL('../docs/faults.md', import.meta.url);
const BEGIN = '<!-- made by `npm run faults -- --write-docs`; do not edit -->';
const BEGIN_FRAMEWORKS = '<!-- made by `npm run faults -- --only frameworks --write-docs`; do not edit -->';
const END = '<!-- end of what is made -->';

const COLUMNS = [
  ['Fault', ({ title }) => title],
  [
    'Longest answer',
    ({ measured: { longestMs, longestWithoutLagMs } }) => `${ms(longestMs)} (${ms(longestWithoutLagMs)})`,
  ],
  ['p99', ({ measured: { p99Ms } }) => ms(p99Ms)],
  ['Outage known: longest', ({ measured: { longestOpenMs } }) => ms(longestOpenMs)],
  [
    'Answered by store, deny cache, fallback',
    ({ measured: { sources } }) => `${sources.store}, ${sources['deny-cache']}, ${sources.fallback}`,
  ],
  ['Rejected', ({ measured: { rejected } }) => String(rejected)],
  ['Allowed, of bound', ({ measured: { admitted } }) => `${admitted.units} of ${admitted.bound}`],
  ['Sent, charged (late)', spentCell],
  ['Recovery of each process (its client connecting)', recoveryCell],
  ['Kept', ({ promises }) => (promises.some(({ broken }) => broken !== undefined) ? 'NO' : 'yes')],
];

/** Late: charged, and by then somebody else had answered. A server that has forgotten cannot be compared with. */
function spentCell({ forgets, measured: { spent } }) {
  const { sent, counted, answered } = spent;
  return forgets ? `${sent}, ${counted} known` : `${sent}, ${counted} (${counted - answered})`;
}

/** In the order of the processes. */
function recoveryCell({ measured: { recoveries } }) {
  const cellOf = (recovery) => {
    if (recovery === undefined) return 'none needed';
    const { tookMs, reconnectMs, isKnown } = recovery;
    return `${ms(tookMs)} (${isKnown ? ms(reconnectMs) : 'not known'})`;
  };
  const cells = recoveries.map(cellOf);
  return cells.every((cell) => cell === 'none needed') ? 'none needed' : cells.join(', ');
}

function ms(value) {
  if (value === undefined || value === Number.NEGATIVE_INFINITY) return 'none';
  return value === Number.POSITIVE_INFINITY ? 'never' : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

const FRAMEWORK_COLUMNS = [
  ['SIGSTOP for 2 s under requests to', ({ framework }) => framework],
  [
    'Longest answer',
    ({ measured: { longestMs, longestWithoutLagMs } }) => `${ms(longestMs)} (${ms(longestWithoutLagMs)})`,
  ],
  ['Later than a plain server', ({ measured: { laterThanPlainMs } }) => ms(laterThanPlainMs)],
  ['Longest before', ({ measured: { calmMs } }) => ms(calmMs)],
  ['Requests, answered by the fallback', ({ measured: { during, byFallback } }) => `${during}, ${byFallback}`],
  ['Processes late by', ({ measured: { worstLagMs } }) => ms(worstLagMs)],
  ['Kept', ({ broken, tries }) => (broken.length > 0 ? 'NO' : `yes${tries > 1 ? `, at try ${tries}` : ''}`)],
];

export function terminalTable(results) {
  return tableOf(COLUMNS, results);
}

export function frameworkTable(results) {
  return tableOf(FRAMEWORK_COLUMNS, results);
}

function tableOf(columns, results) {
  const rows = [columns.map(([title]) => title), ...results.map((result) => columns.map(([, cell]) => cell(result)))];
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function brokenPromises({ results, byFramework }) {
  const faults = results.flatMap(({ name, promises }) =>
    promises
      .filter(({ broken }) => broken !== undefined)
      .map(({ promise, broken }) => `${name}: ${promise}: ${broken}`),
  );
  return [...faults, ...byFramework.flatMap(({ framework, broken }) => broken.map((text) => `${framework}: ${text}`))];
}

/** What was run: the faults, the frameworks, or both. */
export function writeDocs({ results, byFramework, clients, serverVersion, seconds }) {
  if (results.length > 0) {
    writeSection(BEGIN, pageTable(COLUMNS, results), conditions({ results, clients, serverVersion, seconds }));
  }
  if (byFramework.length > 0) {
    writeSection(BEGIN_FRAMEWORKS, pageTable(FRAMEWORK_COLUMNS, byFramework), frameworkConditions(serverVersion));
  }
}

function writeSection(begin, table, conditions) {
  const [before, rest] = readFileSync(PAGE, 'utf8').split(begin);
  const end = rest?.indexOf(END) ?? -1;
  if (end < 0) throw new Error(`docs/faults.md has lost its marks: ${begin} and ${END}`);
  const list = conditions.map((line) => wrapped(`- ${line}`, WIDTH));
  const lines = [...table, '', ...list];
  writeFileSync(PAGE, `${before}${begin}\n\n${lines.join('\n')}\n\n${rest.slice(end)}`);
}

function pageTable(columns, results) {
  return [
    `| ${columns.map(([title]) => title).join(' | ')} |`,
    `|${'---|'.repeat(columns.length)}`,
    ...results.map((result) => `| ${columns.map(([, cell]) => cell(result)).join(' | ')} |`),
  ];
}

function frameworkConditions(serverVersion) {
  return [
    `Measured ${new Date().toISOString().slice(0, 10)}. ${machineWith(serverVersion)}; ioredis ${versionOf('ioredis')}.`,
    'A request every 10 ms over kept-alive connections, by the clock, from another process. Of the longest answer, in brackets, without what the two processes were late by while it waited; promised is 300 ms, and 20 ms for the way. The plain server is in the same process, answers by a timer after 250 ms and is asked in the same moments: the median of the requests that waited.',
  ];
}

function machineWith(serverVersion) {
  const { cpu, cores, memoryGb, system, node, loadAverage } = describeMachine();
  return `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, load average ${loadAverage.join(' ')}; Node ${node}; Redis ${serverVersion} on the same machine`;
}

function conditions({ results, clients, serverVersion, seconds }) {
  const worstLag = Math.max(...results.map(({ measured }) => measured.worstLagMs));
  const mostQueued = Math.max(...results.map(({ measured }) => measured.mostQueued));
  const versions = [...new Set(clients)].map((name) => `${name} ${versionOf(name)}`).join(', ');
  return [
    `Measured ${new Date().toISOString().slice(0, 10)} by \`npm run faults -- --write-docs\`, in ${Math.round(seconds)} s.`,
    `${machineWith(serverVersion)}; ${versions}.`,
    `${clients.length} processes (${clients.join(', ')}; two ioredis and one node-redis where the server is absent at first, connections go silent, or Sentinel is asked). \`redisStore(client)\` and the clients have their defaults. Each process makes ${PER_SECOND} attempts a second, by the clock and not one after the other: ${countOf(0)} of ${PATTERN.length} on a key with ${LIMIT} per ${WINDOW_MS / 1000} s, the others on one that denies nothing and is counted.`,
    `The processes themselves were late by up to ${ms(worstLag)} (their own event loop, on a machine with other work). The longest answer is given as it was and, in brackets, without what the process was late by while it waited.`,
    `No more than ${mostQueued} commands were waiting in an ioredis client at any time.`,
  ];
}

const countOf = (which) => PATTERN.filter((one) => one === which).length;

function versionOf(name) {
  const folder = { 'node-redis': 'redis', 'valkey-glide': '@valkey/valkey-glide' }[name] ?? name;
  return JSON.parse(readFileSync(new URL(`../node_modules/${folder}/package.json`, import.meta.url), 'utf8')).version;
}
