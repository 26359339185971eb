/** `sluice backtest`: what limits would have done to the traffic of a log. */
import { createWriteStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { type Condition, MEASURES, parseCondition } from '../backtest/fail-if.ts';
import { type BacktestOptions, type BacktestReport, backtest } from '../log-files/backtest.ts';
import { ConfigScenario } from '../log-files/config-scenario.ts';
import { findLogs } from '../log-files/open-logs.ts';
import { reportHtml } from '../log-files/report-html.ts';
import { FormatError } from '../logs/line-format.ts';
import { loadConfig } from '../service/load-config.ts';
import type { Arguments, Command } from './command.ts';
import { LOG_FLAGS, LOG_HELP, logOptions, progressLine, workersFor } from './log-flags.ts';
import { parsePolicy } from './policy-flag.ts';
import { reportText } from './report-text.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';

const FLAGS = {
  ...LOG_FLAGS,
  policy: { type: 'string', multiple: true },
  config: { type: 'string', multiple: true, isFile: true },
  html: { type: 'string', isFile: true },
  denied: { type: 'string', isFile: true },
  'fail-if': { type: 'string', multiple: true },
  'no-bounds': { type: 'boolean' },
} as const;

export const backtestCommand: Command = {
  name: 'backtest',
  summary: 'Shows which clients a limit would have denied, from an access log.',
  help: `Usage: sluice backtest FILE... --policy 'ALGORITHM NAME=VALUE ...' [--policy ...] [--key KEY]
       sluice backtest FILE... --config PATH

${LOG_HELP}
  --policy TEXT    a policy, such as 'token-bucket capacity=100 refillRate=10/s'; may be repeated; each is tried by itself, all in one pass
  --config PATH    policies, rules, plans, keys and costs, as sluice serve applies them; --key then only says what identifies a client in the report
  --html FILE      writes a report: one HTML page that works offline
  --denied FILE    writes every line that would have been denied, as JSON with policy and retryAfter
  --fail-if TEXT   exits with code 1 if this is true for any policy: 'clients-denied > 0.1%'; may be repeated. Names are
                   ${Object.keys(MEASURES).join(', ')}
  --no-bounds      skips the bounds for what a log of whole seconds cannot tell

Ctrl-C stops reading and shows what was found so far. You cannot try a limit on concurrent requests: a log says when requests
came, not which of them ran at the same time.

Examples:
  sluice backtest access.log.gz --policy 'token-bucket capacity=100 refillRate=10/s'
  sluice backtest logs/ --config policies.yaml --html report.html
  sluice backtest access.log --policy 'sliding-window-counter limit=60 window=1m' --fail-if 'clients-denied > 0.1%'
  zcat old/*.gz | sluice backtest - --policy 'fixed-window limit=1000 window=1h' --key user`,
  words: 'files',
  flags: FLAGS,
  async run(flags, terminal) {
    if (flags.words.length === 0) throw new UsageError('which log?');
    const policies = flags.texts('policy').map(parsePolicy);
    const conditions = flags.texts('fail-if').map(conditionOf);
    const config = await configOf(flags, terminal);
    if (policies.length === 0 && config === undefined)
      throw new UsageError('expected --policy or --config, got neither');
    const report = await readable(() => tried(flags, terminal, { policies, config }));
    terminal.out(flags.has('json') ? JSON.stringify(report, undefined, 2) : reportText(report));
    const html = flags.text('html');
    if (html !== undefined) await writeFile(html, reportHtml(report));
    return verdict(report, conditions, terminal);
  },
};

function conditionOf(text: string): Condition {
  try {
    return parseCondition(text);
  } catch (error) {
    throw new UsageError(`--fail-if: ${(error as Error).message}`);
  }
}

async function configOf(flags: Arguments, { environment }: Terminal): Promise<ConfigScenario | undefined> {
  const paths = flags.texts('config');
  if (paths.length === 0) return undefined;
  const { config } = await loadConfig(paths, environment);
  if (config.rules.length === 0) throw new UsageError('--config: it has no rules, so it limits no line of a log');
  return new ConfigScenario(config);
}

async function tried(
  flags: Arguments,
  terminal: Terminal,
  chosen: Pick<BacktestOptions, 'policies' | 'config'>,
): Promise<BacktestReport> {
  const options = logOptions(flags);
  const denied = deniedFile(flags.text('denied'));
  const progress = progressLine(terminal);
  const { signal, stop } = interruption();
  try {
    return await backtest(flags.words, {
      ...options,
      ...chosen,
      workers: options.workers ?? workersFor(await sizeOf(flags.words)),
      input: terminal.input,
      bounds: !flags.has('no-bounds'),
      onProgress: progress.onProgress,
      onDenied: denied?.write,
      signal,
    });
  } finally {
    stop();
    progress.end();
    await denied?.end();
  }
}

/** Of all that lie on the disk. */
export async function sizeOf(paths: readonly string[]): Promise<number> {
  const found = await findLogs(paths);
  const sizes = await Promise.all(found.map(async ({ name }) => (name === '-' ? 0 : (await stat(name)).size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Problems of a log are a sentence, not a stack. */
export async function readable<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw error instanceof FormatError ? new UsageError(error.message) : error;
  }
}

/** Ctrl-C: what is there is shown. A second one ends the process. */
export function interruption(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort();
    process.off('SIGINT', abort);
  };
  process.on('SIGINT', abort);
  return { signal: controller.signal, stop: () => void process.off('SIGINT', abort) };
}

/** One line of JSON for each that is denied. */
function deniedFile(file: string | undefined) {
  if (file === undefined) return undefined;
  const stream = createWriteStream(file);
  const failed = new Promise<never>((_, reject) => stream.on('error', reject));
  failed.catch(() => {});
  return {
    write: ({ policy, retryAfter, line }: { policy: string; retryAfter: number; line: string }): void => {
      // Infinity is null in JSON: it can never be allowed.
      stream.write(`${JSON.stringify({ policy, retryAfter, line })}\n`);
    },
    end: () => Promise.race([new Promise<void>((resolve) => stream.end(resolve)), failed]),
  };
}

function verdict(report: BacktestReport, conditions: readonly Condition[], terminal: Terminal): number {
  const failures = conditions.flatMap((condition) => condition.holds(report));
  for (const failure of failures) terminal.error(`sluice backtest: ${failure}`);
  return failures.length > 0 ? EXIT.no : EXIT.ok;
}
