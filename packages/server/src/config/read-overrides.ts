/** The section `overrides`: other numbers for a single key under one policy, until a moment. */
import { kindOf, readFields, readText } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import { type PolicyDraft, withNumbers } from './read-policies.ts';

const OVERRIDE_FIELDS = ['key', 'policy', 'limits', 'until', 'reason'] as const;

export interface OverrideTargets {
  readonly policies: ReadonlyMap<string, PolicyDraft>;
  isPolicy(name: string): boolean;
}

/** Puts each into the policy it is about. */
export function readOverrides(value: unknown, targets: OverrideTargets, problems: Problems): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) {
    problems.add(['overrides'], `expected a list of overrides, got ${kindOf(value)}`);
    return;
  }
  value.forEach((item, index) => {
    readOverride(item, ['overrides', index], targets, problems);
  });
}

function readOverride(value: unknown, path: Path, { policies, isPolicy }: OverrideTargets, problems: Problems): void {
  const fields = readFields(value, path, problems, OVERRIDE_FIELDS);
  if (fields === undefined) return;
  const key = readText(fields.key, [...path, 'key'], problems, 'a key, in quotes if it has a colon and a space');
  const name = readText(fields.policy, [...path, 'policy'], problems, 'the name of a policy');
  if (fields.reason !== undefined) readText(fields.reason, [...path, 'reason'], problems, 'a text');
  const until = readMoment(fields.until, [...path, 'until'], problems);
  const draft = name === undefined ? undefined : policies.get(name);
  if (name !== undefined && !isPolicy(name)) problems.add([...path, 'policy'], `no such policy: ${kindOf(name)}`);
  if (draft === undefined) return;
  const policy = withNumbers(draft.data, fields.limits, [...path, 'limits'], problems);
  if (key === undefined || policy === undefined) return;
  if (draft.overrides.has(key)) problems.add([...path, 'key'], `${kindOf(key)} already has an override of ${name}`);
  draft.overrides.set(key, { key, policy: draft.wrap(policy), until });
}

/** The schema for editors has it too. */
export const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** A day is over when it begins, in UTC: `until` is the first moment without. */
export function readMoment(value: unknown, path: Path, problems: Problems): number | undefined {
  if (value === undefined) return undefined;
  const moment = typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isFinite(moment) && hasDay(value as string)) return moment;
  problems.add(path, `expected a moment such as 2027-01-31 or 2027-01-31T12:00:00Z, got ${kindOf(value)}`);
  return undefined;
}

/** JavaScript takes February 31 for March 3, which nobody meant. */
function hasDay(moment: string): boolean {
  const day = moment.slice(0, 'yyyy-mm-dd'.length);
  return new Date(day).toISOString().startsWith(day);
}
