/** The section `exceptions`: keys, prefixes and networks that are exempt or denied. Those that are set at run time hold beside them. */
import type { ExceptionEntry } from 'sluice/exceptions';
import { sharedExceptions } from 'sluice/exceptions';
import { kindOf, readFields } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import { readMoment } from './read-overrides.ts';

const SUBJECTS = ['key', 'prefix', 'network'] as const;
const FIELDS = ['kind', ...SUBJECTS, 'until', 'reason'] as const;
export const FILE_KINDS = ['exempt', 'deny'] as const;
const MOST = 100_000;

export function readExceptions(value: unknown, problems: Problems): readonly ExceptionEntry[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MOST) {
    const expected = `a list of at most ${MOST} exceptions`;
    problems.add(['exceptions'], `expected ${expected}, got ${Array.isArray(value) ? value.length : kindOf(value)}`);
    return [];
  }
  return value.flatMap((item, index) => readException(item, ['exceptions', index], problems) ?? []);
}

function readException(value: unknown, path: Path, problems: Problems): ExceptionEntry | undefined {
  const fields = readFields(value, path, problems, FIELDS);
  if (fields === undefined) return undefined;
  if (!FILE_KINDS.includes(fields.kind as 'deny')) {
    problems.add([...path, 'kind'], `expected ${FILE_KINDS.join(' or ')}, got ${kindOf(fields.kind)}`);
    return undefined;
  }
  const moment = readMoment(fields.until, [...path, 'until'], problems);
  const until = moment === undefined ? undefined : new Date(moment).toISOString();
  const known = Object.fromEntries(FIELDS.map((field) => [field, fields[field]]));
  return checked({ ...known, until }, path, problems);
}

/** By the library, which says what is wrong with which field. */
function checked(entry: object, path: Path, problems: Problems): ExceptionEntry | undefined {
  const exceptions = sharedExceptions();
  try {
    exceptions.setFixed([entry]);
    return entry as ExceptionEntry;
  } catch (error) {
    const { path: place, expected, got } = error as { path: string; expected: string; got: string };
    const [, field] = /^exceptions\[0\]\.(\w+)/.exec(place) ?? [];
    problems.add(field === undefined ? path : [...path, field], `expected ${expected}, got ${got}`);
    return undefined;
  }
}
