/** What a client asks, whether it came as protobuf or as JSON. */
import type { Unit } from './unit.ts';

export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
  /** 0 means 1. */
  readonly hitsAddend: number;
}

export interface Descriptor {
  readonly entries: readonly Entry[];
  /** A limit that comes along with the request. */
  readonly limit?: LimitOverride | undefined;
  /** In place of the request's. 0 looks and spends nothing. */
  readonly hitsAddend?: number | undefined;
  /** The hits are given back instead of spent. */
  readonly isNegativeHits?: boolean | undefined;
}

/** Whether something is given back: a change, like a refund, and not only a question. */
export function givesBack({ descriptors }: RateLimitRequest): boolean {
  return descriptors.some(({ isNegativeHits }) => isNegativeHits === true);
}

export interface Entry {
  readonly key: string;
  readonly value: string;
}

export interface LimitOverride {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
}

/** A request that cannot be answered. The message is what the client is told. */
export class ServiceError extends Error {}
