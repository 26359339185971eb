/** The block `rate_limit`: the reference server's fields, and beside them an algorithm, a capacity and a period of one's own. */
import { SluiceError } from 'sluice';
import { OF_NUMBERS_ALONE } from '../files/algorithms.ts';
import { kindOf } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import type { Limit } from './domain.ts';
import { isYamlMap, type YamlMap } from './envoy-yaml.ts';
import { calendarLimitOf, DEFAULT_ALGORITHM, hasCapacity, limitOf, MAX_REQUESTS } from './limit.ts';
import { readFlag, readText, readWhole } from './read-value.ts';
import { type CalendarUnit, isCalendarUnit, secondsOf } from './unit.ts';

export interface RateLimit {
  /** Undefined: unlimited. */
  readonly limit: Limit | undefined;
  readonly name: string;
  readonly replaces: readonly string[];
}

export function readRateLimit(
  value: unknown,
  path: Path,
  problems: Problems,
  usesCalendarMonth: boolean,
): RateLimit | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isYamlMap(value)) {
    problems.add(path, `error loading config file: rate_limit: expected a map, got ${kindOf(value)}`);
    return undefined;
  }
  const name = readText(value.get('name'), [...path, 'name'], problems);
  const replaces = readReplaces(value.get('replaces'), name, [...path, 'replaces'], problems);
  if (!readFlag(value.get('unlimited'), [...path, 'unlimited'], problems)) {
    return { limit: readLimit(value, path, problems, usesCalendarMonth), name, replaces };
  }
  if (secondsIn(value.get('unit')) !== undefined || value.has('period')) {
    problems.add([...path, 'unit'], 'should not specify rate limit unit when unlimited');
  }
  return { limit: undefined, name, replaces };
}

function readReplaces(value: unknown, own: string, path: Path, problems: Problems): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    problems.add(
      path,
      `error loading config file: replaces: expected a list of maps with a name, got ${kindOf(value)}`,
    );
    return [];
  }
  const items: readonly unknown[] = value;
  return items.filter(isYamlMap).map((item, index) => {
    const name = readText(item.get('name'), [...path, index, 'name'], problems);
    if (name === '') problems.add([...path, index], 'should not have an empty replaces entry');
    else if (name === own) problems.add([...path, index], 'replaces should not contain name of same descriptor');
    return name;
  });
}

function readLimit(map: YamlMap, path: Path, problems: Problems, usesCalendarMonth: boolean): Limit | undefined {
  const known = problems.list.length;
  const periodMs = readPeriod(map, path, problems);
  const algorithm = readAlgorithm(map.get('algorithm'), [...path, 'algorithm'], problems);
  const capacity = readCapacity(map, algorithm, path, problems);
  const requestsPerUnit = readWhole(map.get('requests_per_unit'), [...path, 'requests_per_unit'], problems, {
    ...{ least: 0, most: MAX_REQUESTS, otherwise: 0 },
  });
  const calendar = readCalendar(map, path, problems, usesCalendarMonth);
  if (problems.list.length > known || periodMs === undefined) return undefined;
  try {
    if (calendar !== undefined) return calendarLimitOf(requestsPerUnit, calendar);
    return limitOf({ requestsPerUnit, periodMs, algorithm, capacity });
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    problems.add(path, `error loading config file: rate_limit: expected ${error.expected}, got ${error.got}`);
    return undefined;
  }
}

/** Days, weeks, months and years may be those of the calendar: where a rule says so, and months where all of them are meant. */
function readCalendar(
  map: YamlMap,
  path: Path,
  problems: Problems,
  usesCalendarMonth: boolean,
): CalendarUnit | undefined {
  const unit = String(map.get('unit')).toUpperCase();
  const isPlain = !map.has('unit_multiplier') && !map.has('algorithm') && !map.has('period');
  if (!readFlag(map.get('calendar'), [...path, 'calendar'], problems)) {
    return usesCalendarMonth && isPlain && unit === 'MONTH' ? unit : undefined;
  }
  if (isCalendarUnit(unit) && isPlain) return unit;
  const expected = 'unit day, week, month or year beside it, and neither period, unit_multiplier nor algorithm';
  problems.add([...path, 'calendar'], `error loading config file: calendar: expected ${expected}`);
  return undefined;
}

/** A unit, or several of them, or a time of one's own. */
function readPeriod(map: YamlMap, path: Path, problems: Problems): number | undefined {
  if (map.has('period')) return readOwnPeriod(map, path, problems);
  const unit = map.get('unit');
  const seconds = secondsIn(unit);
  if (seconds === undefined) {
    problems.add([...path, 'unit'], `invalid rate limit unit '${unit === undefined || unit === null ? '' : unit}'`);
    return undefined;
  }
  const multiplier = readWhole(map.get('unit_multiplier'), [...path, 'unit_multiplier'], problems, {
    ...{ least: 1, most: MAX_REQUESTS, otherwise: 1 },
  });
  return seconds * multiplier * 1e3;
}

const PERIOD = /^(\d+)(ms|s|m|h|d)$/;
const PERIOD_MS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 };

function readOwnPeriod(map: YamlMap, path: Path, problems: Problems): number | undefined {
  const at = [...path, 'period'];
  const period = map.get('period');
  if (map.has('unit') || map.has('unit_multiplier')) {
    problems.add(at, 'error loading config file: period: expected either period or unit, got both');
    return undefined;
  }
  const [, count, unit] = PERIOD.exec(String(period)) ?? [];
  if (count !== undefined && Number(count) > 0) return Number(count) * PERIOD_MS[unit!]!;
  problems.add(
    at,
    `error loading config file: period: expected a time such as 250ms, 90s, 5m or 1h, got ${kindOf(period)}`,
  );
  return undefined;
}

function readAlgorithm(value: unknown, path: Path, problems: Problems): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && OF_NUMBERS_ALONE.includes(value)) return value;
  const names = OF_NUMBERS_ALONE.join(', ');
  problems.add(path, `error loading config file: algorithm: expected one of ${names}, got ${kindOf(value)}`);
  return undefined;
}

/** `burst` is another word for it. */
function readCapacity(map: YamlMap, algorithm: string | undefined, path: Path, problems: Problems): number | undefined {
  const field = ['capacity', 'burst'].find((name) => map.has(name));
  if (field === undefined) return undefined;
  const at = [...path, field];
  if (map.has('capacity') && map.has('burst')) {
    problems.add(at, 'error loading config file: capacity: expected either capacity or burst, got both');
  }
  const chosen = algorithm ?? DEFAULT_ALGORITHM;
  if (!hasCapacity(chosen)) {
    const expected = `one of the algorithms ${OF_NUMBERS_ALONE.filter(hasCapacity).join(', ')} beside it`;
    problems.add(at, `error loading config file: ${field}: expected ${expected}, got ${chosen}`);
  }
  return readWhole(map.get(field), at, problems, { least: 1, most: MAX_REQUESTS, otherwise: 1 });
}

function secondsIn(unit: unknown): number | undefined {
  return typeof unit === 'string' ? secondsOf(unit.toUpperCase()) : undefined;
}
