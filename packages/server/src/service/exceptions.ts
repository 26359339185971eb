/**
 * Exceptions over HTTP: one list for all servers on a store, seen, added to and shortened with the token. Each change is in the log, without the
 * key unless that is allowed.
 */
import type { Policy } from 'sluice';
import type { ExceptionEntry, Exceptions, Subject } from 'sluice/exceptions';
import { ruleOf } from 'sluice/store';
import type { Config } from '../config/config.ts';
import { kindOf } from '../files/fields.ts';
import { type Answer, json } from './answer.ts';
import { readItem } from './ask.ts';
import { HttpError, invalidField } from './http-error.ts';
import type { Log } from './log.ts';
import { refuseOthers } from './query.ts';
import { readJson } from './read-body.ts';
import type { Asked, RouteContext } from './routes.ts';

const SUBJECTS = ['key', 'prefix', 'network'] as const;
const FIELDS = ['kind', ...SUBJECTS, 'policy', 'numbers', 'for', 'until', 'reason'] as const;
export const KINDS = ['exempt', 'deny', 'override'] as const;

/** GET lists, POST adds, DELETE ends. */
export async function exceptionsRoute(asked: Asked, context: RouteContext): Promise<Answer> {
  const headers = { 'Cache-Control': 'no-store' };
  const { method } = asked.request;
  if (method === 'POST') return json(200, await add(asked, context), headers);
  if (method === 'DELETE') return json(200, await remove(asked, context), headers);
  return json(200, list(asked, context), headers);
}

function list({ query }: Asked, { exceptions }: RouteContext): object {
  refuseOthers(query, ['key']);
  const key = query.get('key');
  const entries = key === null ? exceptions.list() : exceptions.of(key);
  return { exceptions: entries, current: exceptions.isCurrent };
}

async function add({ request }: Asked, context: RouteContext): Promise<object> {
  const { exceptions, limits } = context;
  const fields = readItem(await readJson(request, context.bodyLimits), '', FIELDS);
  const { kind, policy, numbers, key, prefix, network, ...how } = fields;
  if (!KINDS.includes(kind as 'deny')) throw invalidField('kind', KINDS.join(', '), kindOf(kind));
  const isOverride = kind === 'override';
  if (!isOverride && (policy !== undefined || numbers !== undefined)) {
    throw invalidField(policy === undefined ? 'numbers' : 'policy', 'kind override beside it', kindOf(kind));
  }
  if (isOverride) refuseNumbers(limits.config, policy, numbers);
  const subject = subjectIn({ key, prefix, network });
  const options = how as { for?: '1s' };
  const entry = isOverride
    ? await exceptions.override(subject, numbers as Record<string, number>, { ...options, policy: policy as string })
    : await exceptions[kind as 'exempt' | 'deny'](subject, options);
  note(context, 'an exception was set', entry);
  return entry;
}

async function remove({ query }: Asked, context: RouteContext): Promise<object> {
  refuseOthers(query, SUBJECTS);
  const given = Object.fromEntries(SUBJECTS.map((name) => [name, query.get(name) ?? undefined]));
  const removed = await context.exceptions.remove(subjectIn(given));
  note(context, 'exceptions were removed', given, { removed });
  return { removed };
}

function subjectIn(given: Partial<Record<(typeof SUBJECTS)[number], unknown>>): Subject {
  const named = SUBJECTS.filter((name) => given[name] !== undefined);
  if (named.length !== 1) throw invalidField('key', 'one of key, prefix and network', String(named.length));
  const [name] = named;
  return name === 'key' ? (given.key as string) : ({ [name!]: given[name!] } as Subject);
}

/** An override that no policy could be under is a mistake of the one who wrote it. */
function refuseNumbers({ policies }: Config, name: unknown, numbers: unknown): void {
  if (name !== undefined && (typeof name !== 'string' || !policies.has(name))) {
    throw new HttpError(400, 'unknown_policy', `policy: there is no policy ${kindOf(name)}`, { path: 'policy' });
  }
  const meant = name === undefined ? [...policies.values()] : [policies.get(name as string)!];
  const problems = meant.map(({ policy }) => problemUnder(policy, numbers));
  if (problems.length > 0 && problems.every((problem) => problem !== undefined)) throw problems[0]!;
}

function problemUnder(policy: Policy, numbers: unknown): unknown {
  try {
    ruleOf(policy).changed(numbers as Record<string, unknown>);
    return undefined;
  } catch (error) {
    return error;
  }
}

export interface ChangeLog {
  readonly log: Log;
  /** Whether keys may stand in the log. */
  readonly logKeys: boolean;
}

function note(
  { log, logKeys }: ChangeLog,
  message: string,
  { key, prefix, network, ...entry }: Partial<ExceptionEntry>,
  more: object = {},
): void {
  const about = key !== undefined ? 'key' : prefix !== undefined ? 'prefix' : 'network';
  const subject = logKeys ? { subject: key ?? prefix ?? network } : {};
  log.info(message, { about, ...subject, ...entry, ...more });
}

/** The list, as the store keeps it. */
export type { Exceptions };
