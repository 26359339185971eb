/**
 * The reference server as a model, from what its tests and its README say: a counter for each state and window, and no store. Nothing of
 * the service is used here, so that the two can be held against each other.
 */
import type { Asked, AskedDescriptor } from './support.ts';

/** As it stands in the file. */
export interface FileNode {
  readonly key: string;
  readonly value?: string | undefined;
  readonly rate_limit?: FileLimit | undefined;
  readonly descriptors?: readonly FileNode[] | undefined;
  readonly shadow_mode?: boolean;
  readonly quota_mode?: boolean;
  readonly share_threshold?: boolean;
  readonly detailed_metric?: boolean;
  readonly value_to_metric?: boolean;
  readonly metadata?: Metadata | undefined;
}

export interface FileLimit {
  readonly unit?: string;
  readonly requests_per_unit?: number;
  readonly unlimited?: boolean;
  readonly name?: string | undefined;
  readonly replaces?: readonly { readonly name: string }[] | undefined;
}

type Metadata = Readonly<Record<string, unknown>>;

export interface Modes {
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
}

export interface Expected {
  /** In the notation of the cases. */
  readonly text: string;
  /** Limit, remaining and reset. */
  readonly headers: readonly string[] | undefined;
  readonly metadata: Metadata | undefined;
}

/** total, over, near, within, shadow, given back */
type Counts = [number, number, number, number, number, number];

export const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ...{ second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800, month: 2_592_000, year: 31_536_000 },
};

interface Found {
  /** Undefined: unlimited. */
  readonly limit: { readonly requests: number; readonly seconds: number; readonly unit: string } | undefined;
  readonly name: string;
  readonly replaces: readonly string[];
  readonly shadow: boolean;
  readonly quota: boolean;
  readonly state: string;
  readonly metric: string;
  readonly metadata: Metadata | undefined;
}

interface Status {
  readonly isOver: boolean;
  readonly isQuota: boolean;
  readonly text: string;
  /** Undefined where nothing is limited. */
  readonly headers: readonly [limit: number, remaining: number, reset: number] | undefined;
  readonly metadata: Metadata | undefined;
}

export class ReferenceModel {
  /** By the names of the rules. */
  readonly counts = new Map<string, Counts>();
  /** How often SHADOW_MODE turned an answer. */
  shadowed = 0;
  readonly #counters = new Map<string, number>();

  constructor(
    readonly domain: string,
    readonly nodes: readonly FileNode[],
    readonly modes: Modes,
  ) {}

  /** The time in seconds. */
  answer(asked: Asked, now: number): Expected {
    const found = asked.descriptors.map((descriptor) => this.#find(asked.domain, descriptor));
    const replaced = new Set(found.flatMap((rule) => rule?.replaces ?? []));
    const statuses = found.map((rule, index) => {
      const isReplaced = rule?.limit !== undefined && replaced.has(rule.name);
      const isNegative = asked.descriptors[index]!.isNegativeHits === true;
      return this.#statusOf(isReplaced ? undefined : rule, hitsOf(asked, index), isNegative, now);
    });
    const metadata = statuses.map((status) => status.metadata ?? {}).reduce(merged, {});
    return {
      text: `${this.#overall(statuses)}: ${statuses.map(({ text }) => text).join('; ')}`,
      headers: headersOf(statuses),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    };
  }

  #find(domain: string, { entries, limit }: AskedDescriptor): Found | undefined {
    if (domain !== this.domain) return undefined;
    if (limit === undefined) return findRule(this.nodes, entries);
    const { requestsPerUnit: requests, unit } = limit;
    return {
      limit: { requests, seconds: UNIT_SECONDS[unit.toLowerCase()]!, unit },
      ...{ name: '', replaces: [], shadow: false, quota: false, metadata: undefined, metric: 'override' },
      state: entries.map(({ key, value }) => `${key}=${value}`).join(),
    };
  }

  #statusOf(rule: Found | undefined, hits: number, isNegative: boolean, now: number): Status {
    const nothing = { isOver: false, headers: undefined, metadata: undefined };
    if (rule === undefined) return { ...nothing, isQuota: this.modes.quotaMode, text: 'OK -' };
    const { limit, name, shadow, state } = rule;
    if (limit === undefined) return { ...nothing, isQuota: false, text: 'OK unlimited' };
    const { requests, seconds, unit } = limit;
    const window = `${state} ${seconds} ${Math.floor(now / seconds)}`;
    const before = this.#counters.get(window) ?? 0;
    const after = isNegative ? Math.max(0, before - hits) : before + hits;
    this.#counters.set(window, after);
    const isAbove = after > requests;
    if (isNegative) this.#countsOf(rule)[5] += hits;
    else this.#count(rule, requests, { before, after, hits });
    const isOver = isAbove && !shadow && !isNegative;
    const remaining = isAbove ? 0 : requests - after;
    const reset = seconds - (Math.floor(now) % seconds);
    const named = name === '' ? '' : ` "${name}"`;
    return {
      ...{ isOver, isQuota: this.modes.quotaMode || rule.quota, headers: [requests, remaining, reset] },
      text: `${isOver ? 'OVER_LIMIT' : 'OK'} ${remaining}/${requests} ${unit} ${reset}s${named}`,
      metadata: isOver ? undefined : rule.metadata,
    };
  }

  #count(rule: Found, limit: number, { before, after, hits }: Record<'before' | 'after' | 'hits', number>): void {
    const counts = this.#countsOf(rule);
    const threshold = Math.floor(Math.fround(Math.fround(limit) * Math.fround(0.8)));
    counts[0] += hits;
    if (after <= limit) {
      counts[3] += hits;
      if (after > threshold) counts[2] += before >= threshold ? hits : after - threshold;
      return;
    }
    if (rule.shadow) counts[4] += hits;
    counts[1] += before >= limit ? hits : after - limit;
    if (before < limit) counts[2] += limit - Math.max(threshold, before);
  }

  #countsOf({ metric }: Found): Counts {
    const counts: Counts = this.counts.get(metric) ?? [0, 0, 0, 0, 0, 0];
    this.counts.set(metric, counts);
    return counts;
  }

  #overall(statuses: readonly Status[]): 'OK' | 'OVER_LIMIT' {
    const quotas = statuses.filter(({ isQuota }) => isQuota);
    const areAllOver = quotas.length > 0 && quotas.every(({ isOver }) => isOver);
    if (!areAllOver && !statuses.some(({ isOver, isQuota }) => isOver && !isQuota)) return 'OK';
    if (!this.modes.shadowMode) return 'OVER_LIMIT';
    this.shadowed += 1;
    return 'OK';
  }
}

function hitsOf({ descriptors, hitsAddend = 0 }: Asked, index: number): number {
  return descriptors[index]!.hitsAddend?.value ?? Math.max(1, hitsAddend);
}

function findRule(nodes: readonly FileNode[], entries: AskedDescriptor['entries']): Found | undefined {
  const path: FileNode[] = [];
  for (const entry of entries) {
    const node = findNode(path.length === 0 ? nodes : (path.at(-1)!.descriptors ?? []), entry);
    if (node === undefined) return undefined;
    path.push(node);
  }
  const last = path.at(-1);
  if (last?.rate_limit === undefined) return undefined;
  const { unit = '', requests_per_unit = 0, unlimited, name = '', replaces = [] } = last.rate_limit;
  return {
    limit: unlimited
      ? undefined
      : { requests: requests_per_unit, seconds: UNIT_SECONDS[unit]!, unit: unit.toUpperCase() },
    ...{ name, replaces: replaces.map((other) => other.name), metadata: last.metadata },
    ...{ shadow: last.shadow_mode === true, quota: last.quota_mode === true },
    state: entries.map(({ key, value }, at) => `${key}=${path[at]!.share_threshold ? path[at]!.value : value}`).join(),
    metric: entries.map(({ value }, at) => metricOf(path[at]!, value, last.detailed_metric === true)).join('.'),
  };
}

function findNode(level: readonly FileNode[], { key, value }: AskedDescriptor['entries'][number]) {
  const own = level.filter((node) => node.key === key);
  return (
    own.find((node) => node.value !== undefined && node.value === value) ??
    own.find((node) => node.value?.includes('*') && matches(node.value, value)) ??
    own.find((node) => node.value === undefined)
  );
}

function matches(pattern: string, value: string): boolean {
  return new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(value);
}

function metricOf(node: FileNode, value: string, isDetailed: boolean): string {
  const isOpen = (isDetailed || node.value_to_metric) && !node.share_threshold;
  const told = isOpen ? value : node.value;
  return told === undefined || told === '' ? node.key : `${node.key}_${told}`;
}

/** The last that denies by itself, else the first of those with the least remaining. */
function headersOf(statuses: readonly Status[]): readonly string[] | undefined {
  let chosen: Status['headers'];
  for (const { isOver, isQuota, headers } of statuses) {
    if (headers !== undefined && ((isOver && !isQuota) || chosen === undefined || headers[1] < chosen[1])) {
      chosen = headers;
    }
  }
  return chosen?.map(String);
}

/** What is there already stays, but for maps, which are merged. */
function merged(one: Metadata, other: Metadata): Metadata {
  const result: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const known = result[key];
    if (known === undefined) result[key] = value;
    else if (typeof known === 'object' && typeof value === 'object') {
      result[key] = merged(known as Metadata, value as Metadata);
    }
  }
  return result;
}
