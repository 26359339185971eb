/** The section `quotas`: which buckets of Envoy's quota service share which policy. */
import { checkPolicy, parseDuration } from 'sluice';
import { isFields, kindOf, readFields } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import { LATENESS_MS, type Labels, QUOTA_POLICY_PREFIX, type Quota, type QuotaRule, termsOf } from '../rlqs/quota.ts';
import type { NamedPolicy } from './config.ts';

export const QUOTA_FIELDS = ['domain', 'match', 'policy', 'blanket', 'ttl', 'idle', 'strategy'] as const;
export const STRATEGIES = ['token_bucket', 'requests_per_time_unit'] as const;
export const BLANKETS = ['allow', 'deny'] as const;
const MOST = 10_000;
const TTL_MS = 3000;
const IDLE_MS = 60_000;
const SHORTEST_MS = 100;
const LONGEST_MS = 3_600_000;

interface Known {
  readonly policies: ReadonlyMap<string, NamedPolicy>;
  isPolicy(name: string): boolean;
}

export function readQuotas(value: unknown, known: Known, problems: Problems): readonly Quota[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MOST) {
    const got = Array.isArray(value) ? value.length : kindOf(value);
    problems.add(['quotas'], `expected a list of at most ${MOST} quotas, got ${got}`);
    return [];
  }
  return value.flatMap((item, index) => readQuota(item, ['quotas', index], known, problems) ?? []);
}

function readQuota(value: unknown, path: Path, known: Known, problems: Problems): Quota | undefined {
  const fields = readFields(value, path, problems, QUOTA_FIELDS);
  if (fields === undefined) return undefined;
  const before = problems.list.length;
  const { domain } = fields;
  if (domain !== undefined && (typeof domain !== 'string' || domain === '')) {
    problems.add([...path, 'domain'], `expected the domain of the quota filter in Envoy, got ${kindOf(domain)}`);
  }
  const match = readMatch(fields.match, [...path, 'match'], problems);
  const rule = 'blanket' in fields ? readBlanket(fields, path, problems) : readLeased(fields, path, known, problems);
  if (problems.list.length > before || rule === undefined) return undefined;
  return { domain: domain as string | undefined, match, rule };
}

function readMatch(value: unknown, path: Path, problems: Problems): Labels {
  const expected = 'a map of labels of the bucket id to texts, * for any';
  if (!isFields(value)) {
    problems.add(path, `expected ${expected}, got ${kindOf(value)}`);
    return {};
  }
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string' || text === '') problems.add([...path, name], `expected a text, got ${kindOf(text)}`);
  }
  return value as Labels;
}

type Fields = Readonly<Record<string, unknown>>;

function readBlanket(fields: Fields, path: Path, problems: Problems): QuotaRule | undefined {
  const { blanket } = fields;
  if (!BLANKETS.includes(blanket as 'deny')) {
    problems.add([...path, 'blanket'], `expected ${BLANKETS.join(' or ')}, got ${kindOf(blanket)}`);
    return undefined;
  }
  const other = ['policy', 'ttl', 'idle', 'strategy'].find((name) => name in fields);
  if (other !== undefined) problems.add([...path, other], 'expected either blanket or policy, got both');
  return { blanket: blanket as 'allow' | 'deny' };
}

function readLeased(fields: Fields, path: Path, known: Known, problems: Problems): QuotaRule | undefined {
  const { policy: name, strategy = STRATEGIES[0] } = fields;
  const ttlMs = readTime(fields.ttl, TTL_MS, [...path, 'ttl'], problems);
  const idleMs = readTime(fields.idle, IDLE_MS, [...path, 'idle'], problems);
  if (!STRATEGIES.includes(strategy as (typeof STRATEGIES)[number])) {
    problems.add([...path, 'strategy'], `expected ${STRATEGIES.join(' or ')}, got ${kindOf(strategy)}`);
  }
  if (typeof name !== 'string' || !known.isPolicy(name)) {
    problems.add([...path, 'policy'], `expected the name of a policy, or blanket in its place, got ${kindOf(name)}`);
    return undefined;
  }
  const named = known.policies.get(name);
  if (named === undefined || ttlMs === undefined || idleMs === undefined) return undefined;
  // A state of its own: others who ask under the policy would not keep to the terms of leases.
  const policy = checkPolicy({ ...named.policy, name: `${QUOTA_POLICY_PREFIX}${name}` });
  const rule = { policy, ttlMs, idleMs, strategy: strategy as (typeof STRATEGIES)[number] };
  if (termsOf(rule) !== undefined) return rule;
  const seconds = (ttlMs + LATENESS_MS) / 1e3;
  problems.add(
    [...path, 'policy'],
    `units of ${name} cannot be handed out for ${seconds} s: that takes a window, or a capacity that is at least ten times what comes ` +
      'back in this time. Give it a longer window or more capacity, or set a shorter ttl',
  );
  return undefined;
}

function readTime(value: unknown, otherwise: number, path: Path, problems: Problems): number | undefined {
  if (value === undefined) return otherwise;
  try {
    const ms = parseDuration(value as string, 'time');
    if (ms >= SHORTEST_MS && ms <= LONGEST_MS) return ms;
  } catch {
    // Told below, with all that is wrong.
  }
  problems.add(path, `expected a time from 100ms to 1h, got ${kindOf(value)}`);
  return undefined;
}
