/** `sluice suggest`: the tightest limits that a share of the clients of a log would never have met. */

import type { CurvePoint } from '../backtest/suggest.ts';
import { fieldsOf } from '../files/algorithms.ts';
import { exactTime, rateText } from '../files/time-text.ts';

import { type SuggestReport, suggest, type Tried } from '../log-files/suggest.ts';
import { interruption, readable, sizeOf } from './backtest.ts';
import type { Command } from './command.ts';
import { LOG_FLAGS, LOG_HELP, logOptions, progressLine, workersFor } from './log-flags.ts';
import { count, headText, percent, plural } from './report-text.ts';
import { table } from './table.ts';
import { EXIT, UsageError } from './terminal.ts';

const FLAGS = { ...LOG_FLAGS, keep: { type: 'string' }, rates: { type: 'string' } } as const;

export const suggestCommand: Command = {
  name: 'suggest',
  summary: 'Suggests limits from an access log that would never have denied 99.9 % of the clients.',
  help: `Usage: sluice suggest FILE... [--key KEY] [--keep 99.9%]

${LOG_HELP}
  --keep SHARE     the share of clients that must never be denied; 99.9% by default
  --rates LIST     the rates of the curve, such as 1/s,2/s,5/s; 24 from 1/h to 5000/s by default

It prints the burst curve of the log (the capacity that a bucket needs at each rate), the point where it bends, limits for
windows, and YAML to paste. It tries each limit on the same log, and tries the limits of the first half on the second half.

Examples:
  sluice suggest access.log
  sluice suggest logs/ --key 'user | ip' --keep 99%
  sluice suggest requests.csv --field time=TIMESTAMP --key everyone --cost ContextTokens+GeneratedTokens`,
  words: 'files',
  flags: FLAGS,
  async run(flags, terminal) {
    if (flags.words.length === 0) throw new UsageError('which log?');
    const keep = readShare(flags.text('keep') ?? '99.9%');
    const options = logOptions(flags);
    const progress = progressLine(terminal);
    const { signal, stop } = interruption();
    const report = await readable(async () => {
      return suggest(flags.words, {
        ...options,
        keep,
        rates: flags.text('rates')?.split(','),
        workers: options.workers ?? workersFor(await sizeOf(flags.words)),
        input: terminal.input,
        onProgress: progress.onProgress,
        signal,
      });
    }).finally(() => {
      stop();
      progress.end();
    });
    terminal.out(flags.has('json') ? JSON.stringify(report, undefined, 2) : suggestText(report));
    return EXIT.ok;
  },
};

function readShare(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  const value = Number(number);
  if (value > 0 && value <= 100) return value / 100;
  throw new UsageError(`--keep: expected a share such as 99.9%, got ${JSON.stringify(text)}`);
}

const PLOT_WIDTH = 30;

export function suggestText(report: SuggestReport): string {
  const lines = [...headText(report), ''];
  if (report.clients === 0) return [...lines, 'No requests.'].join('\n');
  const lost = Math.floor(report.clients * (1 - report.keep) + 1e-9);
  lines.push(
    `${plural(report.requests, 'request')} from ${plural(report.clients, 'client')}. To keep ${percent(report.keep)} of them, at most ${count(lost)} may ever be denied.`,
    '',
    ...curveText(report),
    '',
    ...windowsText(report),
    '',
    ...triedText(report.suggestions),
  );
  if (report.isWholeSeconds) {
    lines.push(
      '',
      'The times of the log are whole seconds. A bucket may need up to one second of its rate more, or less, than it says.',
    );
  }
  return [...lines, '', 'policies:', ...yamlLines(report.suggestions)].join('\n');
}

function curveText({ buckets, knee, keep }: SuggestReport): string[] {
  const most = Math.max(...buckets.map((point) => Math.log(point.keep)));
  const right = 'right' as const;
  const titles = ['rate', '50 %', '90 %', '99 %', '99.9 %', 'everyone', `keep ${percent(keep)}`];
  return [
    'Capacity that a bucket needs, by its rate, to never deny this share of the clients',
    ...table(
      [...titles.map((title) => ({ title, align: right })), { title: '' }],
      buckets
        .slice(0, lastThatMatters(buckets) + 1)
        .map((point, index) => [...cells(point), bar(point.keep, most, index === knee)]),
    ),
  ];
}

/** From here on a higher rate changes nothing. */
function lastThatMatters(points: readonly CurvePoint[]): number {
  const numbers = points.map(({ shares, everyone, keep }) => String([...shares, everyone, keep]));
  return numbers.indexOf(numbers.at(-1)!);
}

function cells({ text, shares, everyone, keep }: CurvePoint): string[] {
  return [text, ...shares.map(count), count(everyone), count(keep)];
}

/** On a logarithmic scale. */
function bar(value: number, most: number, isKnee: boolean): string {
  const length = most === 0 ? 1 : 1 + Math.round((Math.log(value) / most) * (PLOT_WIDTH - 1));
  return `${'█'.repeat(length)}${isKnee ? ' the curve bends here' : ''}`;
}

function windowsText({ sliding, log, fixed, keep }: SuggestReport): string[] {
  const right = 'right' as const;
  const titles = ['window', '50 %', '90 %', '99 %', '99.9 %', 'everyone', `keep ${percent(keep)}`];
  const rows = (kind: string, points: readonly CurvePoint[]) => points.map((point) => [kind, ...cells(point)]);
  return [
    'Limit that a window needs',
    ...table(
      [{ title: '' }, ...titles.map((title) => ({ title, align: right }))],
      [...rows('sliding counter', sliding), ...rows('sliding log', log), ...rows('fixed', fixed)],
    ),
  ];
}

function triedText(suggestions: readonly Tried[]): string[] {
  const right = 'right' as const;
  const isTried = suggestions.some(({ denied }) => denied !== undefined);
  if (!isTried)
    return ['The suggestions were not tried: the log could be read only once. Give a file instead of standard input.'];
  return table(
    [
      { title: 'suggested' },
      { title: 'clients denied', align: right },
      { title: 'requests denied', align: right },
      { title: 'from the first half, it keeps of the second', align: right },
    ],
    suggestions.map(({ name, clientsDeniedInBacktest, denied, secondHalf }) => [
      name,
      count(clientsDeniedInBacktest ?? 0),
      count(denied ?? 0),
      secondHalf === undefined
        ? ''
        : `${percent(secondHalf.kept)} (${count(secondHalf.clients - secondHalf.clientsDenied)} of ${count(secondHalf.clients)})`,
    ]),
  );
}

/** As a config has it. */
function yamlLines(suggestions: readonly Tried[]): string[] {
  return suggestions.map(({ policy }) => {
    const values = policy as unknown as Readonly<Record<string, unknown>>;
    const fields = fieldsOf(policy.algorithm).flatMap(([name, { kind }]) => {
      const value = values[name];
      if (value === undefined || kind === 'choice' || kind === 'text') return [];
      if (kind === 'duration') return [`${name}: ${exactTime(Number(value)).replaceAll(' ', '').replace('min', 'm')}`];
      return [`${name}: ${kind === 'rate' ? rateText(Number(value)).replace('/min', '/m') : value}`];
    });
    const name = `${policy.algorithm}${'window' in values ? `-${exactTime(Number(values.window)).replaceAll(' ', '')}` : ''}`;
    return `  ${name}: { algorithm: ${policy.algorithm}, ${fields.join(', ')} }`;
  });
}
