/** Medians and spreads. A ratio is taken within each round, where both contenders met the same weather, and then its median. */

export const ascending = (numbers) => [...numbers].sort((a, b) => a - b);

export function median(numbers) {
  if (numbers.length === 0) return Number.NaN;
  const sorted = ascending(numbers);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

export function summary(samples) {
  return { median: median(samples), min: Math.min(...samples), max: Math.max(...samples), samples };
}

/** Summaries of every number of a list of equal records. */
export function summarise(records) {
  const names = Object.keys(records[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, summary(records.map((record) => record[name]))]));
}

export function pairedRatio(numerator, denominator) {
  return summary(numerator.samples.map((sample, round) => sample / denominator.samples[round]));
}

/** Of an ascending list. */
export function quantile(sorted, q) {
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}
