/** An exception to the limits of a limiter, as people read it. What makes and keeps them is in exceptions/. */

/** What holds for a subject: everything is allowed, nothing is, other numbers; or a block that is kept in the state of the key. */
export type ExceptionKind = 'exempt' | 'deny' | 'override' | 'block';

/** One exception, as it is listed and stored. */
export interface ExceptionEntry {
  readonly kind: ExceptionKind;
  /** The key, or its hash where keys are hashed. */
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
  readonly network?: string | undefined;
  /** Of an override: the name of the policy it is for. Default: every policy that has these numbers. */
  readonly policy?: string | undefined;
  /** Of an override: the numbers that hold instead. */
  readonly numbers?: Readonly<Record<string, unknown>> | undefined;
  /** The first moment without it, such as `2027-01-31T12:00:00.000Z`. Undefined: it has no end. */
  readonly until?: string | undefined;
  readonly reason?: string | undefined;
}
