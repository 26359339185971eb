/**
 * Mistakes have names. Every foreseeable mistake is a code with a page of its own in docs/errors/, and says which
 * field was wrong, what was expected there and what came. "Not now" is never an error: that is a result.
 */

export type ErrorCode =
  | 'SLUICE_INVALID_POLICY'
  | 'SLUICE_UNKNOWN_ALGORITHM'
  | 'SLUICE_INVALID_LIMIT'
  | 'SLUICE_INVALID_DURATION'
  | 'SLUICE_INVALID_RATE'
  | 'SLUICE_INVALID_NAME'
  | 'SLUICE_DUPLICATE_POLICY'
  | 'SLUICE_INVALID_COST'
  | 'SLUICE_INVALID_KEY'
  | 'SLUICE_INVALID_OPTION'
  | 'SLUICE_INVALID_CLOCK'
  | 'SLUICE_INVALID_STORE'
  | 'SLUICE_INVALID_CLIENT'
  | 'SLUICE_INVALID_HTTP_KEY'
  | 'SLUICE_TRUSTS_EVERYONE'
  | 'SLUICE_UNTRUSTED_FORWARDED_FOR'
  | 'SLUICE_COUNTED_TWICE'
  | 'SLUICE_MEMORY_IN_CLUSTER'
  | 'SLUICE_UNLIMITED_ROUTE'
  | 'SLUICE_NO_HISTORY'
  | 'SLUICE_HOLD_SETTLED'
  | 'SLUICE_NEVER_FITS'
  | 'SLUICE_ACQUIRE_TIMEOUT'
  | 'SLUICE_QUEUE_FULL'
  | 'SLUICE_ABORTED'
  | 'SLUICE_FORGETFUL_SERVER'
  | 'SLUICE_UNEXPECTED_REPLY'
  | 'SLUICE_TIMEOUT'
  | 'SLUICE_CIRCUIT_OPEN';

export interface Mistake {
  readonly code: ErrorCode;
  /** Where the wrong value stands, as the user wrote it: `tokenBucket.capacity`, `policies[1].window`, `cost`. */
  readonly path: string;
  readonly expected: string;
  /** The value that came, or `Kind` of it. */
  readonly got: unknown;
}

/** Something to say of a value instead of the value. */
export class Kind {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static of(value: unknown): Kind {
    if (typeof value === 'string') return new Kind('a string');
    return typeof value === 'number' ? new Kind('a number') : new Kind(describe(value));
  }
}

export class SluiceError extends TypeError {
  override readonly name = 'SluiceError';
  readonly code: ErrorCode;
  readonly path: string;
  readonly expected: string;
  /** What came, written out short. Where it may be a secret (a client, an option nobody knows) only its kind. */
  readonly got: string;
  /** The page that explains this code, relative to the project's root. */
  readonly page: string;

  constructor({ code, path, expected, got }: Mistake) {
    const written = describe(got);
    const page = `docs/errors/${code}.md`;
    super(`${path}: expected ${expected}, got ${written} (${code}, see ${page})`);
    this.code = code;
    this.path = path;
    this.expected = expected;
    this.got = written;
    this.page = page;
  }
}

/** The value as a person would recognise it, in at most one short line. */
function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > 60
        ? `a string of ${value.length} characters starting with ${JSON.stringify(value.slice(0, 40))}`
        : JSON.stringify(value);
    case 'bigint':
      return `${value}n`;
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : describeObject(value);
    default:
      return String(value);
  }
}

function describeObject(value: object): string {
  if (value instanceof Kind) return value.text;
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty array' : `an array of ${value.length} item${value.length === 1 ? '' : 's'}`;
  const kind = value.constructor?.name;
  return kind && kind !== 'Object' ? `an instance of ${kind}` : `an object with ${describeKeys(value)}`;
}

function describeKeys(value: object): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return 'no fields';
  return keys.length > 6 ? `${keys.slice(0, 6).join(', ')}, ...` : keys.join(', ');
}
