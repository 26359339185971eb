/** What the service refuses, and how it says so: a status, a word for programs, the field, and a sentence for people. */
import { SluiceError } from 'sluice';

export class HttpError extends Error {
  readonly status: number;
  readonly word: string;
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    word: string,
    message: string,
    more: { path?: string; headers?: HttpError['headers'] } = {},
  ) {
    super(message);
    this.status = status;
    this.word = word;
    this.path = more.path;
    this.headers = more.headers ?? {};
  }
}

/** The store did not do what it was asked, and nobody could answer in its place. */
export class StoreError extends Error {}

export function invalidField(path: string, expected: string, got: string): HttpError {
  return new HttpError(400, 'invalid_field', `${path}: expected ${expected}, got ${got}`, { path });
}

/** Whatever was thrown, as what the caller is told. Only what nobody foresaw is a 500, and says nothing of itself. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof SluiceError) return ofLibrary(error);
  if (error instanceof StoreError) return unavailable();
  return new HttpError(500, 'internal_error', 'Something went wrong here. The log has the request id.');
}

/** The library names a verb's option by the verb, `block.duration`; callers of the service sent a field. */
const VERB = /^(?:block|history|penalize|refund|reserve)\./;

function ofLibrary({ code, kind, path: option, expected, got, sentence }: SluiceError): HttpError {
  if (kind === 'store') return unavailable();
  const path = option.replace(VERB, '');
  const message = expected === '' ? sentence : `${path}: expected ${expected}, got ${got}`;
  return code === 'SLUICE_HOLD_SETTLED'
    ? new HttpError(409, code, message)
    : new HttpError(400, code, message, { path });
}

function unavailable(): HttpError {
  const headers = { 'Retry-After': '1' };
  const message = 'The store does not answer. It may or may not have done what you asked.';
  return new HttpError(503, 'store_unavailable', message, { headers });
}

export interface ErrorBody {
  readonly error: string;
  readonly message: string;
  readonly path?: string;
  readonly requestId?: string;
}

export function errorBody({ word, message, path }: HttpError, requestId?: string): ErrorBody {
  return {
    error: word,
    message,
    ...(path === undefined ? {} : { path }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}
