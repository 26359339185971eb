/**
 * What Prometheus reads of the Envoy service, under the names that the reference server's exporter gives it. Rules are named by the file, so
 * the number of series is bounded by it; what clients send is named only where a rule asks for it, and only so many of them.
 */
import type { EnvoyDomain } from './domain.ts';
import type { MetricName } from './match.ts';

const COUNTS = [
  ...(['total_hits', 'over_limit', 'near_limit', 'within_limit'] as const),
  ...(['over_limit_with_local_cache', 'shadow_mode', 'total_negative_hits'] as const),
];
type Counts = Record<(typeof COUNTS)[number], number>;

/** What was counted, as data: what several processes counted can be added up. */
export interface EnvoyCounts {
  /** By labels. */
  readonly rules: ReadonlyMap<string, Readonly<Counts>>;
  readonly events: Readonly<Record<Event, number>>;
  readonly requests: number;
  /** Of Kuadrant, by labels. */
  readonly calls: ReadonlyMap<string, number>;
  readonly firstLoads: number;
  /** How many answers took no longer than each of `RESPONSE_SECONDS`, and longer than the one before. */
  readonly times: readonly number[];
  readonly timedSeconds: number;
  readonly timed: number;
}

/** As the reference server's exporter has them. */
const RESPONSE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

type Event = 'domain_not_found' | 'global_shadow_mode' | 'service_error' | 'redis_error';

/** Series whose name holds what clients sent. Further ones count for the rule as the file names it. */
const MAX_OPEN_SERIES = 1000;

export class EnvoyStats {
  /** By labels. */
  readonly #rules = new Map<string, Counts>();
  /** The same by the path of the file, which is an object that lives as long as the config does. */
  readonly #byPath = new WeakMap<readonly string[], Counts>();
  #openSeries = 0;
  readonly #events: Record<Event, number> = {
    domain_not_found: 0,
    global_shadow_mode: 0,
    service_error: 0,
    redis_error: 0,
  };
  #requests = 0;
  /** By labels. */
  readonly #calls = new Map<string, number>();
  #firstLoads = 0;
  readonly #times: number[] = RESPONSE_SECONDS.map(() => 0);
  #timedSeconds = 0;
  #timed = 0;

  /** The config that the service began with. Changes of it are counted elsewhere. */
  loaded(): void {
    this.#firstLoads += 1;
  }

  requested(): void {
    this.#requests += 1;
  }

  responded(seconds: number): void {
    this.#timed += 1;
    this.#timedSeconds += seconds;
    const bucket = RESPONSE_SECONDS.findIndex((most) => seconds <= most);
    if (bucket >= 0) this.#times[bucket]! += 1;
  }

  happened(event: Event): void {
    this.#events[event] += 1;
  }

  /** One of Kuadrant's. */
  called(call: string, result: string): void {
    const labels = `method="${call}",result="${result}"`;
    this.#calls.set(labels, (this.#calls.get(labels) ?? 0) + 1);
  }

  hit({ name }: EnvoyDomain, metric: MetricName, counts: Partial<Counts>): void {
    const sums = this.#countsOf(name, metric);
    for (const count of COUNTS) sums[count] += counts[count] ?? 0;
  }

  counts(): EnvoyCounts {
    return {
      rules: this.#rules,
      events: this.#events,
      requests: this.#requests,
      calls: this.#calls,
      firstLoads: this.#firstLoads,
      times: this.#times,
      timedSeconds: this.#timedSeconds,
      timed: this.#timed,
    };
  }

  #countsOf(domain: string, { path, isOpen, fixedPath }: MetricName): Counts {
    const found = this.#byPath.get(path);
    if (found !== undefined) return found;
    const labels = labelsOf(domain, path);
    const counts = this.#rules.get(labels);
    if (counts !== undefined) return this.#remembered(path, counts);
    if (isOpen && this.#openSeries >= MAX_OPEN_SERIES) {
      return this.#countsOf(domain, { path: fixedPath, isOpen: false, fixedPath });
    }
    if (isOpen) this.#openSeries += 1;
    const none = Object.fromEntries(COUNTS.map((count) => [count, 0])) as Counts;
    this.#rules.set(labels, none);
    return this.#remembered(path, none);
  }

  #remembered(path: readonly string[], counts: Counts): Counts {
    this.#byPath.set(path, counts);
    return counts;
  }
}

/** Nothing before the first request: who does not use Envoy need not see it. */
export function envoyLines(
  counts: EnvoyCounts,
  reloads: { readonly applied: number; readonly rejected: number },
): readonly string[] {
  const { rules, events, requests, firstLoads } = counts;
  if (requests === 0) return [];
  const { domain_not_found, global_shadow_mode, service_error, redis_error } = events;
  return [
    ...COUNTS.flatMap((count) => ruleLines(rules, count)),
    ...total('total_requests', ['{grpc_method="ShouldRateLimit"}', requests]),
    ...responseTimes(counts),
    ...total('domain_not_found', ['', domain_not_found]),
    ...total('global_shadow_mode', ['', global_shadow_mode]),
    ...total(
      'should_rate_limit_error',
      ['{err_type="service_error"}', service_error],
      ['{err_type="redis_error"}', redis_error],
    ),
    ...total('config_load_success', ['', firstLoads + reloads.applied]),
    ...total('config_load_error', ['', reloads.rejected]),
    ...callLines(counts),
  ];
}

function callLines({ calls }: EnvoyCounts): readonly string[] {
  if (calls.size === 0) return [];
  const name = 'sluice_kuadrant_calls_total';
  return [`# TYPE ${name} counter`, ...[...calls].map(([labels, count]) => `${name}{${labels}} ${count}`)];
}

function responseTimes({ times, timedSeconds, timed }: EnvoyCounts): string[] {
  const name = 'ratelimit_service_response_time_seconds';
  const method = 'grpc_method="ShouldRateLimit"';
  let sum = 0;
  const lines = RESPONSE_SECONDS.map((most, index) => {
    sum += times[index]!;
    return `${name}_bucket{${method},le="${most}"} ${sum}`;
  });
  return [
    `# TYPE ${name} histogram`,
    ...lines,
    `${name}_bucket{${method},le="+Inf"} ${timed}`,
    `${name}_sum{${method}} ${timedSeconds}`,
    `${name}_count{${method}} ${timed}`,
  ];
}

function ruleLines(rules: EnvoyCounts['rules'], count: keyof Counts): string[] {
  const name = `ratelimit_service_rate_limit_${count}`;
  return [`# TYPE ${name} counter`, ...[...rules].map(([labels, counts]) => `${name}{${labels}} ${counts[count]}`)];
}

function total(name: string, ...samples: readonly (readonly [labels: string, value: number])[]): readonly string[] {
  const full = `ratelimit_service_${name}`;
  return [`# TYPE ${full} counter`, ...samples.map(([labels, value]) => `${full}${labels} ${value}`)];
}

function labelsOf(domain: string, path: readonly string[]): string {
  const keys = path.map((composite, index) => `key${index + 1}="${escaped(composite)}"`);
  return [`domain="${escaped(domain)}"`, ...keys].join(',');
}

const MAX_LABEL_LENGTH = 256;

function escaped(text: string): string {
  return text.slice(0, MAX_LABEL_LENGTH).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
