/** Which rule a descriptor is under, and which state that means. */
import { createHash } from 'node:crypto';
import type { EnvoyDomain, Level, Node, Rule } from './domain.ts';
import { compositeOf } from './level.ts';
import { calendarLimitOf, limitOf } from './limit.ts';
import { type Descriptor, type Entry, ServiceError } from './request.ts';
import { secondsOf } from './unit.ts';
import { matchesWildcard } from './wildcard.ts';

export interface Match {
  readonly rule: Rule;
  /** Whose state it is. */
  readonly key: string;
  /** How metrics name the rule: by the file, or where the file asks for it by what came. */
  readonly metric: MetricName;
}

export interface MetricName {
  readonly path: readonly string[];
  /** Whether what clients send is in it. */
  readonly isOpen: boolean;
  /** The name by the file alone. */
  readonly fixedPath: readonly string[];
}

export function matchOf(domain: EnvoyDomain, descriptor: Descriptor): Match | undefined {
  if (descriptor.limit !== undefined) return overridden(domain, descriptor);
  const nodes = nodesFor(domain.level, descriptor.entries);
  const rule = nodes.at(-1)?.rule;
  if (rule === undefined || !isWhole(nodes)) return undefined;
  return { rule, key: stateKey(domain.name, descriptor.entries, nodes), metric: metricName(nodes, descriptor.entries) };
}

/** One node for each entry, up to the first that the file has nothing for: that is undefined, and the last. */
export function nodesFor(level: Level, entries: readonly Entry[]): readonly (Node | undefined)[] {
  const nodes: (Node | undefined)[] = [];
  let current = level;
  for (const entry of entries) {
    const node = find(current, entry);
    nodes.push(node);
    if (node === undefined) break;
    current = node.children;
  }
  return nodes;
}

function isWhole(nodes: readonly (Node | undefined)[]): nodes is readonly Node[] {
  return nodes.at(-1) !== undefined;
}

/** First by key and value, then by the wildcards in the order of the file, then by the key alone. */
function find({ exact, wildcards, byKey }: Level, entry: Entry): Node | undefined {
  const { key, value } = entry;
  const found = exact.get(key)?.get(value);
  if (found !== undefined) return found;
  for (const { wildcard, of, node } of wildcards) {
    if (of === 'value' && node.key !== key) continue;
    if (matchesWildcard(wildcard, of === 'value' ? value : compositeOf(key, value))) return node;
  }
  return byKey.get(key);
}

/** A limit that came along is enforced as it is: no shadow, no name, nothing replaced. */
function overridden(domain: EnvoyDomain, { entries, limit }: Descriptor): Match {
  const { requestsPerUnit, unit } = limit!;
  const seconds = secondsOf(unit);
  if (seconds === undefined) throw new ServiceError(`invalid rate limit unit '${unit}'`);
  const rule: Rule = {
    limit:
      unit === 'MONTH' && domain.usesCalendarMonth
        ? calendarLimitOf(requestsPerUnit, unit)
        : limitOf({ requestsPerUnit, periodMs: seconds * 1e3 }),
    ...{ name: '', replaces: [], shadow: false, quota: false, detailedMetric: false, metadata: undefined },
  };
  const path = ['override'];
  return { rule, key: stateKey(domain.name, entries, []), metric: { path, isOpen: false, fixedPath: path } };
}

const MAX_READABLE_KEY = 512;

/**
 * No two different domains or entries have the same: a list as JSON, where the wildcard that values share is a list of its own. A long
 * one becomes a hash, so that no client fills the store with a few keys.
 */
function stateKey(domain: string, entries: readonly Entry[], nodes: readonly Node[]): string {
  const parts: unknown[] = [domain];
  entries.forEach(({ key, value }, index) => {
    const node = nodes[index];
    parts.push(key, node?.sharesThreshold === true ? [node.path.at(-1)] : value);
  });
  const text = JSON.stringify(parts);
  return text.length <= MAX_READABLE_KEY ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function metricName(nodes: readonly Node[], entries: readonly Entry[]): MetricName {
  const last = nodes.at(-1)!;
  const isDetailed = last.rule?.detailedMetric === true;
  if (!isDetailed && !nodes.some(({ valueToMetric }) => valueToMetric)) {
    return { path: last.path, isOpen: false, fixedPath: last.path };
  }
  const path = entries.map(({ key, value }, index) => {
    const { path: filePath, valueToMetric, sharesThreshold } = nodes[index]!;
    // What values share is named by what they share.
    const isOpen = (isDetailed || valueToMetric) && !sharesThreshold;
    return isOpen ? compositeOf(key, value === '' ? undefined : value) : filePath[index]!;
  });
  return { path, isOpen: true, fixedPath: last.path };
}
