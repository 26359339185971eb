/** What a call ends with. The numbers are gRPC's own. */
export const STATUS = {
  OK: 0,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type StatusCode = (typeof STATUS)[keyof typeof STATUS];

/** A call that has failed, with what the client is told. */
export class GrpcError extends Error {
  readonly code: StatusCode;

  constructor(code: StatusCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The text of an error as a header: bytes that a header may not have, and `%`, become `%XX`. */
export function headerText(message: string): string {
  return Buffer.from(message)
    .reduce<string[]>((pieces, byte) => {
      const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
      pieces.push(isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`);
      return pieces;
    }, [])
    .join('');
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds of a `grpc-timeout`, such as `250m`; Infinity when there is none, or it is none. */
export function timeoutMs(header: string | undefined): number {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header ?? '') ?? [];
  return digits === undefined ? Number.POSITIVE_INFINITY : Number(digits) * UNIT_MS[unit!]!;
}
