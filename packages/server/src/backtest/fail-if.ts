/** Conditions on a report: `clients-denied > 0.1%` makes a check fail. */
import type { PolicyReport, TrafficReport } from './report.ts';

/** A number of a report, and what it is a share of. */
interface Measure {
  readonly about: string;
  value(policy: PolicyReport, report: ConditionReport): number;
  /** What 100 % is; undefined for what has no shares. */
  whole?(policy: PolicyReport, report: ConditionReport): number;
}

/** What a condition looks at. */
export type ConditionReport = TrafficReport & {
  readonly lines?: { readonly bad: number; readonly late: number; readonly lines: number };
};

export const MEASURES: Readonly<Record<string, Measure>> = {
  'clients-denied': {
    about: 'clients that were ever denied',
    value: ({ clientsDenied }) => clientsDenied,
    whole: (_, { clients }) => clients,
  },
  'requests-denied': {
    about: 'requests that were denied',
    value: ({ denied }) => denied,
    whole: ({ allowed, denied }) => allowed + denied,
  },
  'requests-delayed': {
    about: 'requests that had to wait',
    value: ({ delayed }) => delayed,
    whole: ({ allowed, denied }) => allowed + denied,
  },
  'peak-second': { about: 'units allowed in the busiest second', value: ({ peakSecond }) => peakSecond.units },
  'peak-minute': { about: 'units allowed in the busiest minute', value: ({ peakMinute }) => peakMinute.units },
  'bad-lines': {
    about: 'lines that could not be read',
    value: (_, { lines }) => lines?.bad ?? 0,
    whole: (_, { lines }) => lines?.lines ?? 0,
  },
  'late-lines': {
    about: 'lines that came later than the window',
    value: (_, { lines }) => lines?.late ?? 0,
    whole: (_, { lines }) => lines?.lines ?? 0,
  },
};

const COMPARE: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  '>': (one, other) => one > other,
  '>=': (one, other) => one >= other,
  '<': (one, other) => one < other,
  '<=': (one, other) => one <= other,
};

/** A condition, read. */
export interface Condition {
  readonly text: string;
  /** Sentences about each policy that it holds for. */
  holds(report: ConditionReport): readonly string[];
}

/** Throws an error that says what was expected. */
export function parseCondition(text: string): Condition {
  const [, name = '', sign = '', amount = '', percent] =
    /^\s*([a-z-]+)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*(%)?\s*$/.exec(text) ?? [];
  const measure = Object.hasOwn(MEASURES, name) ? MEASURES[name] : undefined;
  if (measure === undefined) {
    throw new TypeError(
      `expected NAME > NUMBER or NUMBER%, such as 'clients-denied > 0.1%', got ${JSON.stringify(text)}. ` +
        `Names are ${Object.keys(MEASURES).join(', ')}`,
    );
  }
  if (percent !== undefined && measure.whole === undefined)
    throw new TypeError(`${name} has no share: leave out the %`);
  const holds = (report: ConditionReport): string[] =>
    report.policies.flatMap((policy) => {
      const value = measure.value(policy, report);
      const whole = percent === undefined ? 1 : measure.whole!(policy, report) / 100;
      const got = whole === 0 ? 0 : value / whole;
      if (!COMPARE[sign]!(got, Number(amount))) return [];
      const shown = percent === undefined ? String(value) : `${Number(got.toPrecision(4))} %`;
      return [`${text.trim()} holds for ${policy.name}: ${measure.about}: ${shown}`];
    });
  return { text, holds };
}
