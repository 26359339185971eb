/** Policies against logs: the whole of it, as a function. */
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Readable } from 'node:stream';
import type { Policy } from 'sluice';
import { Replay } from '../backtest/replay.ts';
import { type Reported, type TrafficReport, trafficReport } from '../backtest/report.ts';
import { type OnDenied, PolicyScenario } from '../backtest/scenario.ts';
import { boundsOf } from '../backtest/whole-seconds.ts';
import { policyText } from '../files/policy-text.ts';
import type { FormatOptions } from '../logs/recognize.ts';
import type { RowColumns } from '../logs/rows.ts';
import type { ConfigScenario } from './config-scenario.ts';
import { findLogs } from './open-logs.ts';
import { type ParseOptions, type Parser, parserHere, parserPool } from './parsers.ts';
import { type ReadOptions, type ReadResult, readLogs } from './read-logs.ts';

/** How logs are read. */
export interface LogOptions extends FormatOptions, ReadOptions {
  /** Who is a client: `ip` (default), `user | ip`, `field:NAME`, `ip + route`, `everyone`. */
  readonly key?: string | undefined;
  /** Fields whose sum is what a request costs. Default: every request costs 1. */
  readonly cost?: readonly string[] | undefined;
  /** Only lines whose fields are these: `{ policy: 'api' }`. */
  readonly where?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds that a line may come later than lines with later times. Default: 5 minutes. */
  readonly window?: number | undefined;
  /** Threads that read lines. Default: one, and one for each core (at most 4) where a file is large. */
  readonly workers?: number | undefined;
  /** What `-` among the files stands for. */
  readonly input?: Readable | undefined;
}

/** A request that a policy would have denied. */
export interface DeniedLine {
  readonly policy: string;
  /** Seconds; Infinity when such a request can never be allowed. */
  readonly retryAfter: number;
  /** The line as it stands in the log. */
  readonly line: string;
}

/** What `backtest` takes besides the files. */
export interface BacktestOptions extends LogOptions {
  /** Each is tried alone, all in one pass. */
  readonly policies?: readonly Policy[] | undefined;
  /** A whole config: its rules, plans, keys and costs are tried together, as `sluice serve` applies them. */
  readonly config?: ConfigScenario | undefined;
  /** Called with every line that would have been denied. */
  readonly onDenied?: ((denied: DeniedLine) => void) | undefined;
  /** Whether the bounds of a log of whole seconds are worked out too. Default: true. */
  readonly bounds?: boolean | undefined;
}

/** What a backtest found. */
export interface BacktestReport extends TrafficReport {
  readonly logs: ReadResult['logs'];
  readonly lines: ReadResult['counts'] & { readonly late: number };
  readonly badLines: ReadResult['badLines'];
  /** The log has whole seconds: requests of one second are decided at its beginning. */
  readonly isWholeSeconds: boolean;
  /** Seconds that a line may come too late. */
  readonly window: number;
  /** The reading was ended before the end of the logs. */
  readonly isInterrupted: boolean;
  /** Sentences about logs that were not read, or not to their end. */
  readonly notes: readonly string[];
}

export const DEFAULT_WINDOW_MS = 5 * 60_000;

/**
 * Runs policies against access logs, with the library's own rules on the log's own clock, and says whom they would have hit.
 *
 * @example
 * const report = await backtest(['access.log.gz'], { policies: [tokenBucket({ capacity: 100, refillRate: 10 })] });
 * const share = report.policies[0].clientsDeniedShare; // 0 to 1
 */
export async function backtest(paths: readonly string[], options: BacktestOptions = {}): Promise<BacktestReport> {
  const { policies = [], config, onDenied, bounds = true } = options;
  const found = await findLogs(paths);
  const denied: OnDenied | undefined =
    onDenied &&
    ((rows, row, retryAfter, policy) => onDenied({ policy, retryAfter: retryAfter / 1e6, line: rows.lines![row]! }));
  const reported = policies.map((policy) => reportedOf(policy, denied, bounds));
  const all: Reported[] = config === undefined ? reported : [...reported, ...config.reported(denied)];
  const has: RowColumns = {
    routes: true,
    costs: (options.cost?.length ?? 0) > 0,
    spends: config !== undefined,
    lines: onDenied !== undefined,
  };
  const parser = parserOf(has, options, config);
  try {
    const takers = all.flatMap(scenariosOf);
    const replay = new Replay({ window: (options.window ?? DEFAULT_WINDOW_MS) * 1e3, has, takers });
    // Bounds are for logs of whole seconds.
    const onFractions = (): void => {
      replay.takers = all.map(({ scenario }) => scenario);
    };
    const read = await readLogs(found, options.input, parser, replay, { ...options, onFractions });
    const shown = read.isWholeSeconds ? all : all.map((each) => ({ ...each, bounds: undefined }));
    return { ...trafficReport(replay, parser.tables, shown), ...headOf(read, replay, options) };
  } finally {
    await parser.close();
  }
}

function reportedOf(policy: Policy, onDenied: OnDenied | undefined, hasBounds: boolean): Reported {
  const scenario = new PolicyScenario(policy, policyText(policy), onDenied);
  const bounds = hasBounds ? boundsOf(policy) : undefined;
  if (bounds === undefined || bounds === 'exact') return { scenario, policy, bounds };
  const tighter = new PolicyScenario(bounds.tighter, 'tighter', undefined, true);
  const looser = new PolicyScenario(bounds.looser, 'looser', undefined, true);
  return { scenario, policy, bounds: { tighter, looser } };
}

function scenariosOf({ scenario, bounds }: Reported) {
  return typeof bounds === 'object' ? [scenario, bounds.tighter, bounds.looser] : [scenario];
}

/** A config needs the words of each line, so it is read here. */
export function parserOf(has: RowColumns, options: LogOptions, config?: ConfigScenario): Parser {
  const { key = 'ip', cost, format, fields, where, workers = 1 } = options;
  const parse: ParseOptions = { key, cost, format, fields, where, routes: has.routes, lines: has.lines };
  const seed = randomInt(2 ** 31);
  if (workers <= 1 || config !== undefined) return parserHere(parse, seed, config?.reader);
  return parserPool(Math.min(workers, availableParallelism() * 4), parse, seed);
}

/** What is said of the reading itself. */
export function headOf(read: ReadResult, replay: Replay, { window }: LogOptions) {
  return {
    logs: read.logs,
    lines: { ...read.counts, late: replay.sorter.late },
    badLines: read.badLines,
    isWholeSeconds: read.isWholeSeconds && replay.requests > 0,
    window: (window ?? DEFAULT_WINDOW_MS) / 1e3,
    isInterrupted: read.isInterrupted,
    notes: read.notes,
  };
}
