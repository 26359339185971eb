/** A report as tables for people, with small charts. */

import type { PolicyReport } from '../backtest/report.ts';
import { exactTime, roughTime } from '../files/time-text.ts';
import type { BacktestReport } from '../log-files/backtest.ts';
import { printable, shortened, squeezed, table } from './table.ts';

const BARS = '▁▂▃▄▅▆▇█';
const CHART_WIDTH = 60;
const KEY_WIDTH = 44;
const ROUTE_WIDTH = 60;
const MOST_NOTES = 5;

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `1 client`, `2 clients`. */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? '' : 's'}`;
}

/** As many digits as it takes to see that it is not nothing, and not everything. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`;
  const value = share * 100;
  return `${value < 0.01 ? '<0.01' : value > 99.99 ? '>99.99' : Number(value.toPrecision(value >= 10 ? 4 : 3))} %`;
}

export function moment(seconds: number): string {
  return `${new Date(seconds * 1e3).toISOString().slice(0, 19).replace('T', ' ')}`;
}

/** A course as a row of bars, all on one scale. */
export function bars(values: readonly number[], most: number, width = CHART_WIDTH): string {
  const size = Math.max(1, Math.ceil(values.length / width));
  const columns = Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    Math.max(...values.slice(index * size, (index + 1) * size)),
  );
  return columns.map((value) => (value === 0 ? ' ' : BARS[Math.min(7, Math.floor((value / most) * 7.999))])).join('');
}

export function reportText(report: BacktestReport): string {
  const lines = [...headText(report), '', ...trafficText(report)];
  if (report.policies.length > 0) lines.push('', ...comparison(report));
  for (const policy of report.policies) lines.push(...policyText(policy, report));
  return lines.join('\n');
}

/** What is said of the reading, by both commands. */
export type ReadHead = Pick<BacktestReport, 'logs' | 'lines' | 'badLines' | 'isInterrupted' | 'window' | 'notes'>;

/** Of one log its name, of several how many. */
export function headText({ logs, lines, badLines, isInterrupted, window, notes }: ReadHead): string[] {
  const formats = [...new Set(logs.map(({ format }) => format))].join(', ');
  const from = logs.length === 1 ? logs[0]!.file : `${logs.length} files`;
  const skipped = lines.skipped > 0 ? `, ${count(lines.skipped)} of them headers, comments or empty` : '';
  const out = logs.length === 0 ? [] : [`${from}: ${formats}, ${count(lines.lines)} lines${skipped}`];
  out.push(...notes.slice(0, MOST_NOTES).map(printable));
  if (notes.length > MOST_NOTES) out.push(`And ${notes.length - MOST_NOTES} more files; --json lists them.`);
  if (isInterrupted) out.push('Interrupted: this covers what was read so far.');
  if (lines.bad > 0) out.push(`${plural(lines.bad, 'line')} could not be read. The first of them:`);
  for (const { file, line, reason, text } of badLines) {
    out.push(`  ${file}:${line}: ${reason}: ${shortened(printable(text), 90)}`);
  }
  if (lines.late > 0) {
    out.push(
      `${count(lines.late)} lines came more than ${roughTime(window)} late and are counted at the time of the line before them. Raise --window to sort them.`,
    );
  }
  return out;
}

function trafficText(report: BacktestReport): string[] {
  const { requests, units, clients, from, to, peakSecond, peakMinute, course } = report;
  if (from === undefined || to === undefined) return ['No requests.'];
  const costs = units === requests ? '' : ` that cost ${count(units)}`;
  const most = Math.max(...course.came);
  return [
    `${count(requests)} requests${costs} from ${plural(clients, 'client')}, ${moment(from)} to ${moment(to)} UTC (${roughTime(Math.max(1, to - from))})`,
    `busiest second ${count(peakSecond.units)} (${moment(peakSecond.at)}), busiest minute ${count(peakMinute.units)} (${moment(peakMinute.at)})`,
    `${'came'.padEnd(10)}${bars(course.came, most)}  a mark is up to ${exactTime(course.step * Math.ceil(course.came.length / CHART_WIDTH) * 1e3)}`,
    ...report.policies.map(({ course: allowed }, index) => {
      const label = report.policies.length === 1 ? 'allowed' : `allowed ${index + 1}`;
      return `${label.padEnd(10)}${bars(allowed, most)}`;
    }),
    '',
    ...table(
      [{ title: 'busiest clients' }, { title: 'requests', align: 'right' }],
      report.busiest.slice(0, 5).map(({ key, requests }) => [shortened(key, KEY_WIDTH), count(requests)]),
    ),
  ];
}

function comparison({ policies, requests, peakSecond, peakMinute, clients }: BacktestReport): string[] {
  const right = 'right' as const;
  return table(
    [
      { title: 'policy' },
      { title: 'allowed', align: right },
      { title: 'denied', align: right },
      { title: '', align: right },
      { title: 'delayed', align: right },
      { title: 'clients denied', align: right },
      { title: '', align: right },
      { title: 'peak/s', align: right },
      { title: 'peak/min', align: right },
    ],
    [
      [
        '(what came)',
        count(requests),
        '',
        '',
        '',
        `of ${count(clients)}`,
        '',
        count(peakSecond.units),
        count(peakMinute.units),
      ],
      ...policies.map((each) => [
        each.name,
        count(each.allowed),
        count(each.denied),
        percent(each.deniedShare),
        count(each.delayed),
        count(each.clientsDenied),
        percent(each.clientsDeniedShare),
        count(each.peakSecond.units),
        count(each.peakMinute.units),
      ]),
    ],
  );
}

const HARD_WORDS = ['less than 1 %', '1 to 10 %', '10 to 50 %', '50 to 90 %', '90 % or more'];

function policyText(policy: PolicyReport, report: BacktestReport): string[] {
  const { name, denied, howHard, mostDenied, routes, longestRetryAfter, longestDelay, neverAllowed } = policy;
  const lines = ['', name, ...boundsText(policy, report)];
  if (policy.delayed > 0) lines.push(`  ${count(policy.delayed)} requests wait, at most ${roughTime(longestDelay)}`);
  if (neverAllowed > 0) lines.push(`  ${count(neverAllowed)} requests cost more than it can ever allow`);
  if (denied === 0) return [...lines, '  denies nobody'];
  const hard = howHard.flatMap(({ clients }, index) =>
    clients === 0 ? [] : [`${count(clients)} ${clients === 1 ? 'loses' : 'lose'} ${HARD_WORDS[index]}`],
  );
  lines.push(
    `  of the clients it denies, ${hard.join(', ')} of their requests; the longest Retry-After is ${roughTime(longestRetryAfter)}`,
  );
  lines.push(
    ...indented(
      [{ title: 'most denied clients' }, { title: 'denied', align: 'right' }, { title: 'of', align: 'right' }],
      mostDenied
        .slice(0, 5)
        .map(({ key, denied, requests }) => [shortened(key, KEY_WIDTH), count(denied), count(requests)]),
    ),
  );
  if (routes.length === 0) return lines;
  return [
    ...lines,
    ...indented(
      [{ title: 'most denied paths' }, { title: 'denied', align: 'right' }, { title: 'of', align: 'right' }],
      routes
        .slice(0, 5)
        .map(({ route, denied, requests }) => [squeezed(route, ROUTE_WIDTH), count(denied), count(requests)]),
    ),
  ];
}

function indented(...of: Parameters<typeof table>): string[] {
  return table(...of).map((line) => `  ${line}`);
}

/** What whole seconds cannot tell. */
function boundsText({ bounds, policy }: PolicyReport, { isWholeSeconds }: BacktestReport): string[] {
  if (!isWholeSeconds || policy === undefined) return [];
  if (bounds === 'exact') return ['  the times of the log are whole seconds, which is all that this policy looks at'];
  const whole = '  the times of the log are whole seconds, and requests of one second are decided at its beginning';
  if (bounds === undefined) return [`${whole}; how far off that is was not worked out`];
  const { denied, clientsDenied } = bounds;
  return [
    `${whole}:`,
    `  with their true times it denies ${range(denied)} requests and ${range(clientsDenied)} of the clients`,
  ];
}

function range([least, most]: readonly [number, number]): string {
  return least === most ? count(least) : `${count(least)} to ${count(most)}`;
}
