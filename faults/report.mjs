/** The table, for a terminal and for docs/faults.md, and the conditions it was measured under. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describeMachine } from '../bench/measure/machine.mjs';
import { LIMIT, PATTERN, PER_SECOND, WINDOW_MS } from './traffic.mjs';

const PAGE = new URL('../docs/faults.md', import.meta.url);
const BEGIN = '<!-- made by `npm run faults -- --write-docs`; do not edit -->';
const END = '<!-- end of what is made -->';

const COLUMNS = [
  ['Fault', ({ title }) => title],
  [
    'Longest answer',
    ({ measured: { longestMs, longestWithoutLagMs } }) => `${ms(longestMs)} (${ms(longestWithoutLagMs)})`,
  ],
  ['p99', ({ measured: { p99Ms } }) => ms(p99Ms)],
  ['Circuit open: longest', ({ measured: { longestOpenMs } }) => ms(longestOpenMs)],
  [
    'Answered by store, deny cache, fallback',
    ({ measured: { sources } }) => `${sources.store}, ${sources['deny-cache']}, ${sources.fallback}`,
  ],
  ['Rejected', ({ measured: { rejected } }) => String(rejected)],
  ['Admitted, of bound', ({ measured: { admitted } }) => `${admitted.units} of ${admitted.bound}`],
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

export function terminalTable(results) {
  const rows = [COLUMNS.map(([title]) => title), ...results.map((result) => COLUMNS.map(([, cell]) => cell(result)))];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function brokenPromises(results) {
  return results.flatMap(({ name, promises }) =>
    promises
      .filter(({ broken }) => broken !== undefined)
      .map(({ promise, broken }) => `${name}: ${promise}: ${broken}`),
  );
}

export function writeDocs({ results, clients, serverVersion, seconds }) {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/faults.md has lost its marks: ${BEGIN} and ${END}`);
  const lines = [
    `| ${COLUMNS.map(([title]) => title).join(' | ')} |`,
    `|${'---|'.repeat(COLUMNS.length)}`,
    ...results.map((result) => `| ${COLUMNS.map(([, cell]) => cell(result)).join(' | ')} |`),
    '',
    ...conditions({ results, clients, serverVersion, seconds }).map((line) => `- ${line}`),
  ];
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${lines.join('\n')}\n\n${END}${after}`);
}

function conditions({ results, clients, serverVersion, seconds }) {
  const { cpu, cores, memoryGb, system, node, loadAverage } = describeMachine();
  const worstLag = Math.max(...results.map(({ measured }) => measured.worstLagMs));
  const mostQueued = Math.max(...results.map(({ measured }) => measured.mostQueued));
  const versions = [...new Set(clients)].map((name) => `${name} ${versionOf(name)}`).join(', ');
  return [
    `Measured ${new Date().toISOString().slice(0, 10)} by \`npm run faults -- --write-docs\`, in ${Math.round(seconds)} s.`,
    `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, load average ${loadAverage.join(' ')}; Node ${node}; Redis ${serverVersion} on the same machine; ${versions}.`,
    `${clients.length} processes (${clients.join(', ')}; two ioredis and one node-redis where the server is absent at first, connections go silent, or Sentinel is asked), \`redisStore(client)\` with its defaults and clients with theirs, ${PER_SECOND} attempts a second each, by the clock and not one after the other: ${countOf(0)} of ${PATTERN.length} on a key with ${LIMIT} per ${WINDOW_MS / 1000} s, the others on one that denies nothing and is counted.`,
    `The processes themselves were late by up to ${ms(worstLag)} (their own event loop, on a machine with other work). The longest answer is given as it was and, in brackets, without what the process was late by while it waited.`,
    `No more than ${mostQueued} commands were waiting in an ioredis client at any time.`,
  ];
}

const countOf = (which) => PATTERN.filter((one) => one === which).length;

function versionOf(name) {
  const folder = { 'node-redis': 'redis', 'valkey-glide': '@valkey/valkey-glide' }[name] ?? name;
  return JSON.parse(readFileSync(new URL(`../node_modules/${folder}/package.json`, import.meta.url), 'utf8')).version;
}
