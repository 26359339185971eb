/**
 * Errors have codes. Every foreseeable error has a code with a page of its own in docs/errors/, and its message is a sentence that
 * names the field, the cause and the cure. "Not now" is never an error: that is a result.
 */

/** The code of every error. Each has a page: `node_modules/sluice/docs/errors/CODE.md`, or `sluice errors CODE`. */
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
  | 'SLUICE_NO_ADDRESS'
  | 'SLUICE_TRUSTS_EVERYONE'
  | 'SLUICE_UNTRUSTED_FORWARDED_FOR'
  | 'SLUICE_COUNTED_TWICE'
  | 'SLUICE_SHARED_STATE'
  | 'SLUICE_MEMORY_IN_CLUSTER'
  | 'SLUICE_UNLIMITED_ROUTE'
  | 'SLUICE_NO_HISTORY'
  | 'SLUICE_NO_PERMITS'
  | 'SLUICE_HOLD_SETTLED'
  | 'SLUICE_NEVER_FITS'
  | 'SLUICE_ACQUIRE_TIMEOUT'
  | 'SLUICE_QUEUE_FULL'
  | 'SLUICE_ABORTED'
  | 'SLUICE_FORGETFUL_SERVER'
  | 'SLUICE_UNEXPECTED_REPLY'
  | 'SLUICE_STORE_AWAY'
  | 'SLUICE_STORE_BACK'
  | 'SLUICE_STORE_REFUSES'
  | 'SLUICE_CLIENT_ERROR'
  | 'SLUICE_TIMEOUT'
  | 'SLUICE_CIRCUIT_OPEN';

/**
 * Whose turn it is to act on an error:
 * - `mistake`: the program or its configuration has to be changed; trying again gives the same error.
 * - `store`: the store did not answer, or not as it should; it may answer again later.
 * - `wait`: somebody waited in `acquire` or `schedule` and did not get a turn.
 */
export type ErrorKind = 'mistake' | 'store' | 'wait';

const KINDS: Partial<Record<ErrorCode, ErrorKind>> = {
  SLUICE_TIMEOUT: 'store',
  SLUICE_CIRCUIT_OPEN: 'store',
  SLUICE_UNEXPECTED_REPLY: 'store',
  SLUICE_ACQUIRE_TIMEOUT: 'wait',
  SLUICE_QUEUE_FULL: 'wait',
  SLUICE_ABORTED: 'wait',
};

/** What there is to say about an error: a sentence, or for a wrong value what was expected and what came. */
export interface Mistake {
  readonly code: ErrorCode;
  /** Where the wrong value stands, as the user wrote it: `tokenBucket.capacity`, `policies[1].window`, `cost`. */
  readonly path?: string | undefined;
  /** A whole sentence with the cause and the cure. Without it the message is `path: expected ..., got ...`. */
  readonly message?: string | undefined;
  readonly expected?: string | undefined;
  /** The value that came, or `Kind` of it. */
  readonly got?: unknown;
  readonly cause?: unknown;
  /** For an unknown field: those there are. */
  readonly known?: readonly string[] | undefined;
}

/** Something to say of a value instead of the value. */
export class Kind {
  declare readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static of(value: unknown): Kind {
    return new Kind(typeof value === 'string' || typeof value === 'number' ? `a ${typeof value}` : describe(value));
  }
}

/**
 * Every error that Sluice throws, rejects with or reports as a warning.
 *
 * @example
 * if (error instanceof SluiceError && error.kind === 'store') return serveWithoutLimit();
 */
export class SluiceError extends Error {
  override readonly name = 'SluiceError';
  /** Stable, for programs: `SLUICE_INVALID_OPTION`. */
  declare readonly code: ErrorCode;
  /** Whether the program is wrong, the store is away, or a wait has ended. */
  declare readonly kind: ErrorKind;
  /** Where the wrong value stands, as you wrote it: `tokenBucket.capacity`. */
  declare readonly path: string;
  /** For a wrong value: what would have been right. */
  declare readonly expected: string;
  /** For a wrong value: what came, written out short. Where it may be a secret only its kind. */
  declare readonly got: string;
  /** For an unknown field: those there are. */
  declare readonly known: readonly string[] | undefined;
  /** The message without the code and the page. */
  declare readonly sentence: string;
  /** The page about this code, inside the installed package. `sluice errors CODE` prints it. */
  declare readonly page: string;

  constructor({ code, path = '', message, expected = '', got, cause, known }: Mistake) {
    const page = `node_modules/sluice/docs/errors/${code}.md`;
    const written = message === undefined ? describe(got) : '';
    const sentence = message ?? `${path}: expected ${expected}, got ${written}.`;
    super(`${sentence} (${code}, see ${page})`);
    if (cause !== undefined) this.cause = cause;
    const kind = KINDS[code] ?? 'mistake';
    Object.assign(this, { code, kind, path, expected, got: written, known, sentence, page });
  }
}

/** The error of a wrong value: `path: expected ..., got ...`. */
export function wrong(code: ErrorCode, path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code, path, expected, got });
}

/** The error of anything else: a whole sentence with the cause and the cure. */
export function mistaken(code: ErrorCode, path: string, message: string, cause?: unknown): SluiceError {
  return new SluiceError({ code, path, message, cause });
}

/** The value as a person would recognise it, in at most one short line. */
function describe(value: unknown): string {
  if (typeof value === 'string') {
    const start = JSON.stringify(value.slice(0, 40));
    return value.length > 60 ? `a string of ${value.length} characters starting with ${start}` : JSON.stringify(value);
  }
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'object' && value !== null ? describeObject(value) : String(value);
}

function describeObject(value: object): string {
  if (value instanceof Kind) return value.text;
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value)) {
    const { length } = value;
    return length === 0 ? 'an empty array' : `an array of ${length} item${length === 1 ? '' : 's'}`;
  }
  const keys = Object.keys(value);
  const kind = value.constructor?.name;
  if (kind && kind !== 'Object') return `an instance of ${kind}`;
  return `an object with ${keys.slice(0, 6).join(', ') || 'no fields'}${keys.length > 6 ? ', ...' : ''}`;
}
