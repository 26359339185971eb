/**
 * The answer to a request that does not say who is calling. A header or a user that is missing is the caller's mistake, and a 4xx. An
 * address that is missing is a mistake in the setup: that is a 500, with a sentence for whoever set it up.
 */
import type { MaybePromise } from '../model/maybe-promise.ts';
import { invalidOption } from '../model/options.ts';
import type { Warn } from '../model/warnings.ts';
import { type Denial, problemOf, responseOf } from './denial.ts';
import type { Key, RequestView } from './request-view.ts';

/** A status from 400 to 499, or a function that is given the answer and may return another. */
export type Missing<Native = unknown> =
  | number
  | ((
      denial: Denial,
      about: { readonly view: RequestView<Native> },
      // biome-ignore lint/suspicious/noConfusingVoidType: a handler that only logs gives nothing back.
    ) => MaybePromise<Denial | undefined | void>);

/** What a key looked for and did not find: `the header x-api-key`. */
export type Lack = string;
export const ADDRESS: Lack = 'the address of the client';

type LacksOf = (view: RequestView<never>) => readonly Lack[];

/** By key function. Those that are not ours have none. */
const lacks = new WeakMap<object, LacksOf>();

/** Notes what is missing when this key says nothing. */
export function lacking<K extends object>(key: K, lack: Lack | LacksOf): K {
  lacks.set(key, typeof lack === 'string' ? () => [lack] : lack);
  return key;
}

/** What this key does not find in this request. */
export function lacksOf(key: object, view: RequestView<never>): readonly Lack[] {
  return lacks.get(key)?.(view) ?? [];
}

/** Whether this is what a key says that does not know who is calling. */
export function saysNothing(key: unknown): key is undefined | null | '' {
  return key === undefined || key === null || key === '';
}

const DEFAULT_STATUS = 401;

export function checkMissing(missing: unknown, path: string): void {
  if (missing === undefined || typeof missing === 'function') return;
  if (Number.isInteger(missing) && (missing as number) >= 400 && (missing as number) <= 499) return;
  throw invalidOption(path, 'a status from 400 to 499, or a function', missing);
}

/** The answer for requests that this key finds nothing in. */
export function missingAnswer<Native>(
  key: object,
  missing: Missing<Native> | undefined,
  warn: Warn,
): (view: RequestView<Native>) => MaybePromise<Denial> {
  return (view) => {
    const found = lacksOf(key, view as RequestView<never>);
    const isSetup = found.length > 0 && found.every((lack) => lack === ADDRESS);
    if (isSetup) warn(NO_ADDRESS);
    const status = typeof missing === 'number' ? missing : isSetup ? 500 : DEFAULT_STATUS;
    const accept = view.header('accept');
    const denial = isSetup
      ? problemOf(accept, { status, error: 'no_client_address', message: NO_ADDRESS.message })
      : problemOf(accept, { status, error: 'missing_key', message: sentenceFor(found) });
    return typeof missing === 'function' ? answerFrom(missing, denial, view) : denial;
  };
}

async function answerFrom<Native>(
  missing: Extract<Missing<Native>, (...args: never[]) => unknown>,
  denial: Denial,
  view: RequestView<Native>,
): Promise<Denial> {
  return responseOf(await missing(denial, { view }), 'missing(denial)') ?? denial;
}

function sentenceFor(found: readonly Lack[]): string {
  const reason = found.length === 0 ? '.' : `: ${[...new Set(found)].join(' or ')} is missing.`;
  return `This request does not say who is calling${reason}`;
}

const NO_ADDRESS = {
  code: 'SLUICE_NO_ADDRESS',
  path: 'key(request)',
  message:
    'The server does not know the address of this client, so it cannot count the request. ' +
    'Give rateLimit an `ip` function that finds the address, or another `key`.',
} as const;

/** A key made of others says what they say. */
export function lackingAs<K extends object>(key: K, original: Key<never> | object): K {
  return lacking(key, (view) => lacksOf(original, view));
}
