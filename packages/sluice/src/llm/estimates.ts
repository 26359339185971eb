/**
 * What work will cost, learned from what it did cost: a quantile for each name, such as a model or a route. Each name has a histogram whose steps are
 * 8 % apart, in 1 kB whatever is learned, and the newest thousand or so count most: what changes is followed.
 */
import type { Estimate } from '../limiter/hold.ts';
import { checkCount, checkOptionNames, invalidOption } from '../model/options.ts';

/** What `estimates` takes. */
export interface EstimatesOptions {
  /**
   * The share of the work that is to cost no more than the estimate: above 0 and below 1. Default: 0.5, which allows the most under a bucket. Take
   * 0.9 for a window or a quota.
   */
  readonly quantile?: number | undefined;
  /** What to expect at least of a name of which less than 10 costs are known: a whole number. Default: 1000. */
  readonly first?: number | undefined;
  /** Names that are known at most. The one that was not used for longest makes room. Default: 1000. */
  readonly maxNames?: number | undefined;
}

/** Estimates by name. Made by `estimates()`. */
export interface Estimates {
  /**
   * The estimate of a name, for `reserve(key, { cost })`. `known` is a part that is known beforehand, such as the tokens of the prompt: only the rest is
   * estimated and learned.
   */
  of(name: string, known?: number): Estimate;
}

const GROWTH = Math.log(1.08);
const STEPS = 256;
/** When so many have been learned, all of them count half from then on. */
const ENOUGH = 1024;
const FEW = 10;

/**
 * Costs that are learned by name, so that nobody has to guess them. What a hold is committed with is learned.
 *
 * @example
 * const answers = estimates();
 * const hold = await limiter.reserve('user:42', { cost: answers.of('gpt-5', promptTokens) });
 * if (hold.allowed) await hold.commit(usage.total_tokens);
 */
export function estimates(options: EstimatesOptions = {}): Estimates {
  checkOptionNames(options, ['quantile', 'first', 'maxNames'], 'estimates');
  const { quantile = 0.5, first = 1000, maxNames = 1000 } = options;
  if (!(typeof quantile === 'number' && quantile > 0 && quantile < 1)) {
    throw invalidOption('estimates.quantile', 'a number above 0 and below 1', quantile);
  }
  checkUnits(first, 'estimates.first');
  checkCount(maxNames, 'estimates.maxNames');
  /** In the order in which they were used. */
  const byName = new Map<string, Histogram>();
  const histogramOf = (name: string): Histogram => {
    const histogram = byName.get(name) ?? new Histogram();
    byName.delete(name);
    byName.set(name, histogram);
    if (byName.size > maxNames) byName.delete(byName.keys().next().value!);
    return histogram;
  };
  return {
    of(name, known = 0) {
      if (typeof name !== 'string') throw invalidOption('estimates.of(name)', 'the name of what is estimated', name);
      checkUnits(known, 'estimates.of(name, known)');
      const { learned, ...seen } = histogramOf(name).look(quantile);
      return {
        value: known + (learned < FEW ? Math.max(first, seen.value) : seen.value),
        learn: (actual) => histogramOf(name).add(Math.max(0, actual - known)),
      };
    },
  };
}

class Histogram {
  readonly #counts = new Float32Array(STEPS);
  #sum = 0;
  #learned = 0;

  add(cost: number): void {
    const step = cost < 1 ? 0 : Math.min(STEPS - 1, 1 + Math.ceil(Math.log(cost) / GROWTH - 1e-9));
    this.#counts[step]! += 1;
    this.#sum += 1;
    this.#learned += 1;
    if (this.#sum < ENOUGH) return;
    for (let at = 0; at < STEPS; at += 1) this.#counts[at]! /= 2;
    this.#sum /= 2;
  }

  /** The upper end of the step that the quantile lies in, and how many costs were ever learned. */
  look(quantile: number): { readonly value: number; readonly learned: number } {
    let below = this.#counts[0]!;
    let step = 0;
    while (step < STEPS - 1 && below < quantile * this.#sum) {
      step += 1;
      below += this.#counts[step]!;
    }
    return { value: step === 0 ? 0 : Math.floor(Math.exp((step - 1) * GROWTH) + 1e-6), learned: this.#learned };
  }
}

function checkUnits(units: unknown, path: string): void {
  if (Number.isSafeInteger(units) && (units as number) >= 0) return;
  throw invalidOption(path, 'a whole number of at least 0', units);
}
