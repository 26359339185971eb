/**
 * Limits from logs: one pass reads the burst curve; a second one tries what it suggests, on the whole of the logs, and on their second half with
 * what the first half alone would have suggested.
 */
import type { BurstCurve } from '../backtest/burst-curve.ts';
import { Replay, type RowTaker } from '../backtest/replay.ts';
import { countDenied } from '../backtest/report.ts';
import { PolicyScenario } from '../backtest/scenario.ts';
import {
  type CurveChoice,
  curveChoice,
  curveFor,
  type Suggested,
  type Suggestion,
  suggested,
} from '../backtest/suggest.ts';
import { policyText } from '../files/policy-text.ts';
import { wider } from '../logs/key-table.ts';
import type { RowBuffer, RowColumns } from '../logs/rows.ts';
import { type BacktestReport, DEFAULT_WINDOW_MS, headOf, type LogOptions, parserOf } from './backtest.ts';
import { type FoundLog, findLogs } from './open-logs.ts';
import { readLogs } from './read-logs.ts';

/** What `suggest` takes besides the files. */
export interface SuggestOptions extends LogOptions {
  /** The share of clients that must never be denied, 0 to 1. Default: 0.999. */
  readonly keep?: number | undefined;
  /** Rates for the curve, such as `10/s`. Default: 24 from `1/h` to `5000/s`. */
  readonly rates?: readonly string[] | undefined;
}

/** What a suggestion really does. */
export interface Tried extends Suggestion {
  readonly name: string;
  /** What `backtest` counts with it, on the same logs; undefined where they could be read only once. */
  readonly denied: number | undefined;
  readonly clientsDeniedInBacktest: number | undefined;
  /** The same kind of limit from the first half of the requests, on the second half. */
  readonly secondHalf: SecondHalf | undefined;
}

/** What a limit from the first half of the requests does to the second. */
export interface SecondHalf {
  readonly name: string;
  readonly clients: number;
  readonly clientsDenied: number;
  /** The share of clients of the second half that are never denied, 0 to 1. */
  readonly kept: number;
}

/** Limits that a log suggests, and what they would have meant. */
export interface SuggestReport
  extends Omit<Suggested, 'suggestions'>,
    Pick<BacktestReport, 'logs' | 'lines' | 'badLines' | 'isWholeSeconds' | 'window' | 'isInterrupted' | 'notes'> {
  readonly requests: number;
  readonly suggestions: readonly Tried[];
}

/**
 * The tightest limits that a share of the clients of a log would never have met.
 *
 * @example
 * const { suggestions } = await suggest(['access.log'], { keep: 0.999 });
 * const limiter = createLimiter({ policy: suggestions[0].policy });
 */
export async function suggest(paths: readonly string[], options: SuggestOptions = {}): Promise<SuggestReport> {
  const { keep = 0.999, rates } = options;
  if (!(keep > 0 && keep <= 1)) throw new RangeError(`keep: expected a share above 0 and up to 1, got ${keep}`);
  const logs = await findLogs(paths);
  const choice = curveChoice((options.cost?.length ?? 0) > 0, rates);
  const curve = curveFor(choice);
  const { replay, head } = await pass(logs, options, () => [curve]);
  const found = suggested(curve, choice, keep);
  const isOnce = logs.some(({ name }) => name === '-') || head.isInterrupted || replay.requests === 0;
  const tried = isOnce
    ? found.suggestions.map((each) => untried(each))
    : await tryOut(logs, options, found, choice, replay.requests);
  return { ...found, ...head, requests: replay.requests, suggestions: tried };
}

async function pass(logs: readonly FoundLog[], options: LogOptions, takers: () => readonly RowTaker[]) {
  const has: RowColumns = { routes: false, costs: (options.cost?.length ?? 0) > 0, spends: false, lines: false };
  const parser = parserOf(has, options);
  try {
    const replay = new Replay({ window: (options.window ?? DEFAULT_WINDOW_MS) * 1e3, has, takers: takers() });
    const read = await readLogs(logs, options.input, parser, replay, options);
    return { replay, head: headOf(read, replay, options) };
  } finally {
    await parser.close();
  }
}

function untried(suggestion: Suggestion): Tried {
  const name = policyText(suggestion.policy);
  return { ...suggestion, name, denied: undefined, clientsDeniedInBacktest: undefined, secondHalf: undefined };
}

async function tryOut(
  logs: readonly FoundLog[],
  options: SuggestOptions,
  found: Suggested,
  choice: CurveChoice,
  requests: number,
): Promise<Tried[]> {
  const whole = found.suggestions.map(({ policy }) => new PolicyScenario(policy, policyText(policy)));
  const halves = new Halves(choice, found.keep, Math.floor(requests / 2));
  const { replay } = await pass(logs, { ...options, onProgress: undefined }, () => [...whole, halves]);
  const second = halves.results();
  return found.suggestions.map((suggestion, index) => ({
    ...suggestion,
    name: whole[index]!.name,
    denied: whole[index]!.counts.denied,
    clientsDeniedInBacktest: countDenied(whole[index]!, replay.clients),
    secondHalf: second[index],
  }));
}

/** The first half of the requests says the limits, the second one meets them. */
class Halves implements RowTaker {
  readonly #choice: CurveChoice;
  readonly #keep: number;
  #left: number;
  #curve: BurstCurve | undefined;
  #scenarios: readonly PolicyScenario[] = [];
  #isSeen = new Uint8Array(1024);

  constructor(choice: CurveChoice, keep: number, half: number) {
    this.#choice = choice;
    this.#keep = keep;
    this.#left = half;
    this.#curve = curveFor(choice);
  }

  decide(rows: RowBuffer, from: number, to: number, clients: number): void {
    let start = from;
    if (this.#curve !== undefined) {
      const end = Math.min(to, from + this.#left);
      this.#curve.decide(rows, from, end, clients);
      this.#left -= end - from;
      start = end;
      if (this.#left === 0) this.#turn(this.#curve);
    }
    if (start === to) return;
    if (clients > this.#isSeen.length) this.#isSeen = wider(this.#isSeen, Math.max(clients, this.#isSeen.length * 2));
    for (let row = start; row < to; row += 1) this.#isSeen[rows.clients[row]!] = 1;
    for (const scenario of this.#scenarios) scenario.decide(rows, start, to, clients);
  }

  #turn(curve: BurstCurve): void {
    const { suggestions } = suggested(curve, this.#choice, this.#keep);
    this.#scenarios = suggestions.map(({ policy }) => new PolicyScenario(policy, policyText(policy)));
    this.#curve = undefined;
  }

  results(): readonly SecondHalf[] {
    const clients = this.#isSeen.reduce((sum, isSeen) => sum + isSeen, 0);
    return this.#scenarios.map((scenario) => {
      const clientsDenied = countDenied(scenario, this.#isSeen.length);
      return { name: scenario.name, clients, clientsDenied, kept: clients === 0 ? 1 : 1 - clientsDenied / clients };
    });
  }
}
