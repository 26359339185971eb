/**
 * From the numbers of a rule to a policy. Its name tells the state's period but not its limit, so that a changed limit keeps what was
 * spent and a changed period begins anew, as with the reference server. No policy that comes over the API may have such a name.
 */
import { calendarQuota, checkPolicy, fixedWindow } from 'sluice';
import { fieldsOf, isNumber } from '../files/algorithms.ts';
import type { Limit } from './domain.ts';
import { type CalendarUnit, unitOf } from './unit.ts';

/** How the names of all policies begin that keep the state of Envoy's descriptors. */
export const ENVOY_POLICY_PREFIX = 'envoy:';

export const MAX_REQUESTS = 2 ** 32 - 1;

export interface LimitNumbers {
  readonly requestsPerUnit: number;
  readonly periodMs: number;
  /** Default: the reference server's. */
  readonly algorithm?: string | undefined;
  /** Of an algorithm that has one. Default: the requests per unit. */
  readonly capacity?: number | undefined;
}

/** The reference server's algorithm. */
export const DEFAULT_ALGORITHM = 'fixed-window';

/** Throws the library's errors for numbers that it does not take. */
export function limitOf({ requestsPerUnit, periodMs, algorithm = DEFAULT_ALGORITHM, capacity }: LimitNumbers): Limit {
  const unit = unitOf(periodMs / 1e3);
  const name = `${ENVOY_POLICY_PREFIX}${periodMs / 1e3}s`;
  const counter = fixedWindow({ name, limit: Number.MAX_SAFE_INTEGER, window: periodMs });
  if (requestsPerUnit === 0) return { requestsPerUnit, unit, size: 0, policy: counter, counter };
  const size = hasCapacity(algorithm) ? (capacity ?? requestsPerUnit) : requestsPerUnit;
  const policy = checkPolicy({ algorithm, name, ...numbersOf(algorithm, requestsPerUnit, periodMs, size) });
  const isDefault = algorithm === DEFAULT_ALGORITHM;
  return { requestsPerUnit, unit, size, policy, counter: isDefault ? counter : undefined };
}

const CALENDAR_WORDS = { DAY: 'day', WEEK: 'week', MONTH: 'month', YEAR: 'year' } as const;

/** In the periods of the calendar, UTC. */
export function calendarLimitOf(requestsPerUnit: number, unit: CalendarUnit): Limit {
  const every = CALENDAR_WORDS[unit];
  const named = { name: `${ENVOY_POLICY_PREFIX}calendar-${every}`, every };
  const counter = calendarQuota({ ...named, limit: Number.MAX_SAFE_INTEGER });
  const policy = requestsPerUnit === 0 ? counter : calendarQuota({ ...named, limit: requestsPerUnit });
  return { requestsPerUnit, unit, calendar: unit, size: requestsPerUnit, policy, counter };
}

export function hasCapacity(algorithm: string): boolean {
  return fieldsOf(algorithm).some(([name]) => name === CAPACITY);
}

/** How a bucket's size is called, which is not how much comes back in a period. */
const CAPACITY = 'capacity';

/** So many in each period, by the kinds of the fields that an algorithm has. */
function numbersOf(algorithm: string, limit: number, periodMs: number, capacity: number): object {
  const numbers = fieldsOf(algorithm).filter(([, field]) => isNumber(field));
  return Object.fromEntries(
    numbers.map(([name, { kind }]) => {
      if (kind === 'rate') return [name, limit / (periodMs / 1e3)];
      if (kind === 'duration') return [name, periodMs];
      return [name, name === CAPACITY ? capacity : limit];
    }),
  );
}
