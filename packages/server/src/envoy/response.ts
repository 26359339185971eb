/** The answer to a client, before it becomes protobuf or JSON. */
import type { Unit } from './unit.ts';

export type Code = 'OK' | 'OVER_LIMIT';

export interface RateLimitResponse {
  readonly overallCode: Code;
  /** One for each descriptor, in order. */
  readonly statuses: readonly DescriptorStatus[];
  /** To the response to whoever asked Envoy. */
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** To the request that Envoy passes on. */
  readonly requestHeadersToAdd: readonly HeaderValue[];
  readonly dynamicMetadata: Readonly<Record<string, unknown>> | undefined;
}

export interface DescriptorStatus {
  readonly code: Code;
  /** Undefined where no rule matched, or it is unlimited. */
  readonly currentLimit: CurrentLimit | undefined;
  readonly limitRemaining: number;
  /** Whole seconds. */
  readonly durationUntilReset: number | undefined;
}

export interface CurrentLimit {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
  /** Empty for none. */
  readonly name: string;
}

export interface HeaderValue {
  readonly key: string;
  readonly value: string;
}
