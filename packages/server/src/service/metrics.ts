/**
 * What Prometheus reads. Labels are the names of configured policies, `inline` for all others, and fixed words: what callers send never
 * becomes a label, so the number of series is bounded by the config.
 */
import { readFileSync } from 'node:fs';
import { cpuUsage, memoryUsage, versions } from 'node:process';
import { type EnvoyCounts, EnvoyStats, envoyLines } from '../envoy/stats.ts';
import { type QuotaCounts, QuotaStats, quotaLines } from '../rlqs/stats.ts';
import { Live } from './live.ts';

export const OUTCOMES = ['allowed', 'denied', 'shadow_denied'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Seconds. From what memory takes to what a hung store takes. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] as const;

/** Everything that only grows, as data: what several processes counted can be added up. */
export interface Counts {
  readonly decisions: ReadonlyMap<string, Readonly<Record<Outcome, number>>>;
  /** Answers, by who gave them. */
  readonly sources: ReadonlyMap<string, number>;
  /** How many checks took no longer than each of `BUCKETS`, and longer than the one before. */
  readonly buckets: readonly number[];
  readonly checks: number;
  readonly checkSeconds: number;
  readonly storeErrors: number;
  /** Seconds in which a fallback answered, the outage that lasts included. */
  readonly fallbackSeconds: number;
  readonly reloads: { readonly applied: number; readonly rejected: number };
  /** Of the certificate, without TLS 0. */
  readonly certificates: { readonly applied: number; readonly rejected: number };
  readonly responses: ReadonlyMap<number, number>;
  readonly cutOff: number;
  readonly envoy: EnvoyCounts;
  readonly rlqs: QuotaCounts;
}

/** What is not counted but looked at. */
export interface Looked {
  readonly storeUp: boolean;
  /** Servers of the store that are not asked for now, because they did not answer. */
  readonly serversAway: number;
  readonly use: ProcessUse;
  /** Unix time. Undefined without TLS. */
  readonly certificateEndsAt?: number | undefined;
  /** Undefined where one process is the whole server. */
  readonly workers?: { readonly count: number; readonly silent: number } | undefined;
}

/** What the processes that serve take. */
export interface ProcessUse {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Unix time. */
  readonly startedAt: number;
}

export function processUse(): ProcessUse {
  const { user, system } = cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: memoryUsage.rss(),
    startedAt: Math.round(performance.timeOrigin) / 1e3,
  };
}

/** Who can answer: each is there from the start, so that an alert on it has something to look at. */
const SOURCES = ['store', 'fallback', 'deny-cache', 'fail-closed', 'exception'] as const;

/** What the service counts: `GET /metrics` tells it to Prometheus. */
export class Metrics {
  /** The last seconds, with keys: for people who look, not for Prometheus. */
  readonly live: Live;
  /** Of the Envoy service. */
  readonly envoy = new EnvoyStats();
  /** Of Envoy's quota service. */
  readonly rlqs = new QuotaStats();
  readonly #decisions = new Map<string, Record<Outcome, number>>();
  readonly #sources = new Map<string, number>(SOURCES.map((source) => [source, 0]));
  #fallbackSeconds = 0;
  /** When the outage began that lasts, on the clock of this process. */
  #fallbackSince: number | undefined;
  readonly #buckets: number[] = BUCKETS.map(() => 0);
  #checks = 0;
  #checkSeconds = 0;
  #storeErrors = 0;
  readonly #reloads = { applied: 0, rejected: 0 };
  readonly #certificates = { applied: 0, rejected: 0 };
  readonly #responses = new Map<number, number>();
  #cutOff = 0;

  /** `live` is given where it has another clock. */
  constructor(live = new Live()) {
    this.live = live;
  }

  /** Their series are there before the first request, so that an alert on them has something to look at. */
  configured(policies: Iterable<string>): void {
    for (const policy of policies) this.#countsOf(policy);
  }

  decided(policy: string, outcome: Outcome): void {
    this.#countsOf(policy)[outcome] += 1;
  }

  #countsOf(policy: string): Record<Outcome, number> {
    let counts = this.#decisions.get(policy);
    if (counts === undefined) {
      counts = { allowed: 0, denied: 0, shadow_denied: 0 };
      this.#decisions.set(policy, counts);
    }
    return counts;
  }

  answeredBy(source: string): void {
    this.#sources.set(source, (this.#sources.get(source) ?? 0) + 1);
  }

  fallbackBegan(): void {
    this.#fallbackSince ??= performance.now();
  }

  fallbackEnded(): void {
    this.#fallbackSeconds = this.#fallbackSecondsNow();
    this.#fallbackSince = undefined;
  }

  #fallbackSecondsNow(): number {
    const since = this.#fallbackSince;
    return this.#fallbackSeconds + (since === undefined ? 0 : (performance.now() - since) / 1e3);
  }

  checked(seconds: number): void {
    this.#checks += 1;
    this.#checkSeconds += seconds;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1;
    if (bucket < BUCKETS.length) this.#buckets[bucket]! += 1;
  }

  storeFailed(): void {
    this.#storeErrors += 1;
  }

  reloaded(result: 'applied' | 'rejected'): void {
    this.#reloads[result] += 1;
  }

  certificateChanged(result: 'applied' | 'rejected'): void {
    this.#certificates[result] += 1;
  }

  responded(status: number): void {
    this.#responses.set(status, (this.#responses.get(status) ?? 0) + 1);
  }

  cutOff(): void {
    this.#cutOff += 1;
  }

  counts(): Counts {
    return {
      decisions: this.#decisions,
      sources: this.#sources,
      buckets: this.#buckets,
      checks: this.#checks,
      checkSeconds: this.#checkSeconds,
      storeErrors: this.#storeErrors,
      fallbackSeconds: this.#fallbackSecondsNow(),
      reloads: this.#reloads,
      certificates: this.#certificates,
      responses: this.#responses,
      cutOff: this.#cutOff,
      envoy: this.envoy.counts(),
      rlqs: this.rlqs.counts(),
    };
  }
}

/** As Prometheus reads it. */
export function metricsText(counts: Counts, now: Looked): string {
  const { storeErrors, reloads, cutOff } = counts;
  const lines = [
    ...family('sluice_decisions_total', 'counter', 'Answers of policies to attempts.', decisionLines(counts)),
    ...family('sluice_answers_total', 'counter', 'Answers to attempts, by who gave them.', sourceLines(counts)),
    ...family('sluice_fallback_seconds_total', 'counter', 'Seconds in which a fallback answered for the store.', [
      ['', round(counts.fallbackSeconds)],
    ]),
    ...family('sluice_check_duration_seconds', 'histogram', 'How long the store took to decide.', durations(counts)),
    ...family('sluice_store_errors_total', 'counter', 'Calls that the store failed.', [['', storeErrors]]),
    ...family('sluice_store_up', 'gauge', 'Whether the store answers now.', [['', now.storeUp ? 1 : 0]]),
    ...family('sluice_breaker_open', 'gauge', 'Servers of the store that are given up for now.', [
      ['', now.serversAway],
    ]),
    ...family('sluice_config_reloads_total', 'counter', 'Changes of the config file, by what became of them.', [
      ['{result="applied"}', reloads.applied],
      ['{result="rejected"}', reloads.rejected],
    ]),
    ...family('sluice_http_responses_total', 'counter', 'Responses of this service by status.', statusLines(counts)),
    ...family('sluice_connections_cut_total', 'counter', 'Connections closed because their answers were not read.', [
      ['', cutOff],
    ]),
    ...certificateLines(counts, now),
    ...workerLines(now),
    ...processLines(now.use),
    ...envoyLines(counts.envoy, reloads),
    ...quotaLines(counts.rlqs),
  ];
  return `${lines.join('\n')}\n`;
}

/** Only with TLS. */
function certificateLines({ certificates }: Counts, { certificateEndsAt }: Looked): string[] {
  if (certificateEndsAt === undefined) return [];
  return [
    ...family('sluice_certificate_end_time_seconds', 'gauge', 'When the TLS certificate ends, as Unix time.', [
      ['', certificateEndsAt],
    ]),
    ...family('sluice_certificate_reloads_total', 'counter', 'Changes of the TLS files, by what became of them.', [
      ['{result="applied"}', certificates.applied],
      ['{result="rejected"}', certificates.rejected],
    ]),
  ];
}

/** A silent worker's counters are those it told last; what it holds and sees now is not known. */
function workerLines({ workers }: Looked): string[] {
  if (workers === undefined) return [];
  const { count, silent } = workers;
  return [
    ...family('sluice_workers', 'gauge', 'Processes that answer on this port.', [['', count]]),
    ...family('sluice_workers_silent', 'gauge', 'Of these, those that did not answer now: their numbers are old.', [
      ['', silent],
    ]),
  ];
}

/** Under the names that every exporter has for them; of all workers together. */
function processLines({ cpuSeconds, residentBytes, startedAt }: ProcessUse): string[] {
  const info: Sample = [`{version="${VERSION}",node="${versions.node}"}`, 1];
  return [
    ...family('sluice_build_info', 'gauge', 'The version that runs, as labels.', [info]),
    ...family('process_cpu_seconds_total', 'counter', 'User and system CPU time.', [['', round(cpuSeconds)]]),
    ...family('process_resident_memory_bytes', 'gauge', 'Resident memory.', [['', residentBytes]]),
    ...family('process_start_time_seconds', 'gauge', 'When it started, as Unix time.', [['', startedAt]]),
  ];
}

/** Of this package. */
export const { version: VERSION }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

function round(seconds: number): number {
  return Math.round(seconds * 1e3) / 1e3;
}

function sourceLines({ sources }: Counts): Sample[] {
  return [...sources].map(([source, count]): Sample => [`{source="${source}"}`, count]);
}

function decisionLines({ decisions }: Counts): Sample[] {
  return [...decisions].flatMap(([policy, outcomes]) =>
    OUTCOMES.map((outcome): Sample => [`{policy="${policy}",outcome="${outcome}"}`, outcomes[outcome]]),
  );
}

function durations({ buckets, checks, checkSeconds }: Counts): Sample[] {
  let sum = 0;
  const lines = BUCKETS.map((most, index): Sample => {
    sum += buckets[index]!;
    return [`_bucket{le="${most}"}`, sum];
  });
  return [...lines, ['_bucket{le="+Inf"}', checks], ['_sum', checkSeconds], ['_count', checks]];
}

function statusLines({ responses }: Counts): Sample[] {
  return [...responses].map(([status, count]): Sample => [`{status="${status}"}`, count]);
}

type Sample = readonly [suffix: string, value: number];

function family(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([end, value]) => `${name}${end} ${value}`),
  ];
}
