/** `StreamRateLimitQuotas`: reports come, assignments go, for as long as a proxy likes. */
import type { CallHandler, Method, OpenCall } from '../grpc/server.ts';
import { GrpcError, STATUS } from '../grpc/status.ts';
import { readReports, writeActions } from './messages.ts';
import type { Quotas } from './quotas.ts';
import { Reporter, TooManyBuckets } from './reporter.ts';

export const QUOTA_SERVICE = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaService';

/** Reports that may wait for the store. */
const MOST_WAITING = 64;

export interface QuotaStreamOptions {
  readonly quotas: Quotas;
  /** Throws when the caller may not report. */
  guard(authorization: string | undefined): void;
  /** Called with each report, and with each stream that begins or ends. */
  onReport(): void;
  onStreams(change: 1 | -1): void;
}

export function quotaMethods(options: QuotaStreamOptions): readonly (readonly [path: string, method: Method])[] {
  const open = (call: OpenCall): CallHandler => {
    options.guard(call.caller.authorization);
    return new QuotaStream(call, options);
  };
  return [[`/${QUOTA_SERVICE}/StreamRateLimitQuotas`, { stream: { open } }]];
}

class QuotaStream implements CallHandler {
  readonly #call: OpenCall;
  readonly #options: QuotaStreamOptions;
  #domain: string | undefined;
  #reporter: Reporter | undefined;
  #waiting = 0;

  constructor(call: OpenCall, options: QuotaStreamOptions) {
    this.#call = call;
    this.#options = options;
    options.onStreams(1);
  }

  message(message: Buffer): void {
    const { domain, usages } = readReports(message);
    this.#options.onReport();
    const reporter = this.#reporterFor(domain);
    if (this.#waiting >= MOST_WAITING) {
      throw new GrpcError(
        STATUS.RESOURCE_EXHAUSTED,
        `more than ${MOST_WAITING} reports wait to be answered: report less often`,
      );
    }
    this.#waiting += 1;
    reporter
      .report(usages)
      .catch((error) => this.#call.fail(asStatus(error)))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  ended(): void {
    this.#call.end();
  }

  closed(): void {
    this.#options.onStreams(-1);
    this.#reporter?.close();
  }

  /** All reports of a stream are of one domain, which the first names. */
  #reporterFor(domain: string): Reporter {
    if (this.#reporter !== undefined) {
      if (domain === '' || domain === this.#domain) return this.#reporter;
      throw new GrpcError(STATUS.INVALID_ARGUMENT, 'domain must stay what the first report said: open another stream');
    }
    if (domain === '') throw new GrpcError(STATUS.INVALID_ARGUMENT, 'domain must not be empty in the first report');
    const { send, roundTrip, fail } = this.#call;
    this.#domain = domain;
    this.#reporter = new Reporter(this.#options.quotas, domain, {
      send: (actions) => send(writeActions(actions)),
      roundTrip,
      giveUp: (reason) => {
        fail(new GrpcError(STATUS.UNAVAILABLE, reason));
        this.#call.cut();
      },
    });
    return this.#reporter;
  }
}

function asStatus(error: unknown): unknown {
  return error instanceof TooManyBuckets ? new GrpcError(STATUS.RESOURCE_EXHAUSTED, error.message) : error;
}
