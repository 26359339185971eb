/** What Prometheus reads of the quota service. */
import type { Action } from './messages.ts';
import type { QuotaEvents } from './quotas.ts';

const KINDS = ['token_bucket', 'requests_per_time_unit', 'allow_all', 'deny_all', 'abandon'] as const;

/** What was counted, as data: what several processes counted can be added up. */
export interface QuotaCounts {
  /** That are open now. */
  readonly streams: number;
  readonly reports: number;
  readonly assignments: Readonly<Record<Action['kind'], number>>;
  readonly units: number;
  readonly returned: number;
  readonly unmatched: number;
}

export class QuotaStats implements QuotaEvents {
  #streams = 0;
  #reports = 0;
  readonly #assignments = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Action['kind'], number>;
  #units = 0;
  #returned = 0;
  #unmatched = 0;

  streamed(change: 1 | -1): void {
    this.#streams += change;
  }

  reported(): void {
    this.#reports += 1;
  }

  assigned(kind: Action['kind'], units: number): void {
    this.#assignments[kind] += 1;
    this.#units += units;
  }

  returned(units: number): void {
    this.#returned += units;
  }

  unmatched(): void {
    this.#unmatched += 1;
  }

  counts(): QuotaCounts {
    return {
      streams: this.#streams,
      reports: this.#reports,
      assignments: this.#assignments,
      units: this.#units,
      returned: this.#returned,
      unmatched: this.#unmatched,
    };
  }
}

/** Nothing before the first report: who does not use it need not see it. */
export function quotaLines({
  streams,
  reports,
  assignments,
  units,
  returned,
  unmatched,
}: QuotaCounts): readonly string[] {
  if (reports === 0) return [];
  const one = (name: string, type: string, help: string, samples: readonly string[]): readonly string[] => [
    `# HELP sluice_rlqs_${name} ${help}`,
    `# TYPE sluice_rlqs_${name} ${type}`,
    ...samples.map((sample) => `sluice_rlqs_${name}${sample}`),
  ];
  return [
    ...one('streams', 'gauge', 'Streams of proxies that are open.', [` ${streams}`]),
    ...one('reports_total', 'counter', 'Reports of proxies.', [` ${reports}`]),
    ...one(
      'assignments_total',
      'counter',
      'What proxies were told, by kind.',
      KINDS.map((kind) => `{kind="${kind}"} ${assignments[kind]}`),
    ),
    ...one('units_total', 'counter', 'Units handed out to proxies.', [` ${units}`]),
    ...one('units_returned_total', 'counter', 'Units that proxies have left, given back.', [` ${returned}`]),
    ...one('unmatched_total', 'counter', 'Reports of buckets that no quota is for.', [` ${unmatched}`]),
  ];
}
