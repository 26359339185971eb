/**
 * What Prometheus reads. Labels are the names of configured policies, `inline` for all others, and fixed words: what callers send never
 * becomes a label, so the number of series is bounded by the config.
 */
import { EnvoyStats } from '../envoy/stats.ts';
import { Live } from './live.ts';

export const OUTCOMES = ['allowed', 'denied', 'shadow_denied'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Seconds. From what memory takes to what a hung store takes. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] as const;

export class Metrics {
  /** The last seconds, with keys: for people who look, not for Prometheus. */
  readonly live = new Live();
  /** Of the Envoy service. */
  readonly envoy = new EnvoyStats();
  readonly #decisions = new Map<string, Record<Outcome, number>>();
  readonly #buckets: number[] = BUCKETS.map(() => 0);
  #checks = 0;
  #checkSeconds = 0;
  #storeErrors = 0;
  readonly #reloads = { applied: 0, rejected: 0 };
  readonly #responses = new Map<number, number>();

  decided(policy: string, outcome: Outcome): void {
    let counts = this.#decisions.get(policy);
    if (counts === undefined) {
      counts = { allowed: 0, denied: 0, shadow_denied: 0 };
      this.#decisions.set(policy, counts);
    }
    counts[outcome] += 1;
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

  responded(status: number): void {
    this.#responses.set(status, (this.#responses.get(status) ?? 0) + 1);
  }

  /** What is not counted but looked at, comes in. */
  text(now: { readonly storeUp: boolean; readonly holds: number }): string {
    const lines = [
      ...family('sluice_decisions_total', 'counter', 'Answers of policies to attempts.', this.#decisionLines()),
      ...family('sluice_check_duration_seconds', 'histogram', 'How long the store took to decide.', this.#durations()),
      ...family('sluice_store_errors_total', 'counter', 'Calls that the store failed.', [['', this.#storeErrors]]),
      ...family('sluice_store_up', 'gauge', 'Whether the store answers now.', [['', now.storeUp ? 1 : 0]]),
      ...family('sluice_holds', 'gauge', 'Reservations that are not settled yet.', [['', now.holds]]),
      ...family('sluice_config_reloads_total', 'counter', 'Changes of the config file, by what became of them.', [
        ['{result="applied"}', this.#reloads.applied],
        ['{result="rejected"}', this.#reloads.rejected],
      ]),
      ...family('sluice_http_responses_total', 'counter', 'Responses of this service by status.', this.#statusLines()),
      ...this.envoy.lines(this.#reloads),
    ];
    return `${lines.join('\n')}\n`;
  }

  #decisionLines(): Sample[] {
    return [...this.#decisions].flatMap(([policy, counts]) =>
      OUTCOMES.map((outcome): Sample => [`{policy="${policy}",outcome="${outcome}"}`, counts[outcome]]),
    );
  }

  #durations(): Sample[] {
    let sum = 0;
    const buckets = BUCKETS.map((most, index): Sample => {
      sum += this.#buckets[index]!;
      return [`_bucket{le="${most}"}`, sum];
    });
    return [...buckets, ['_bucket{le="+Inf"}', this.#checks], ['_sum', this.#checkSeconds], ['_count', this.#checks]];
  }

  #statusLines(): Sample[] {
    return [...this.#responses].map(([status, count]): Sample => [`{status="${status}"}`, count]);
  }
}

type Sample = readonly [suffix: string, value: number];

function family(name: string, type: string, help: string, samples: readonly Sample[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([end, value]) => `${name}${end} ${value}`),
  ];
}
