/**
 * What callers get for a reservation: text that any server with the same store and config can settle. It is the library's token, and what was asked for,
 * so that the policies are found again: by name in the config of the server that settles, or as they came along. Nothing is kept in a server.
 *
 * Whoever alters it gains nothing: the store has the key, the policies and the spend of each hold, and settles what it has or nothing.
 */
import type { Config } from '../config/config.ts';
import { type Fields, isFields } from '../files/fields.ts';
import { ASK_FIELDS, type Ask, readAsk, readItem } from './ask.ts';
import { HttpError } from './http-error.ts';

export interface ReadHold extends Ask {
  readonly token: string;
}

/** `fields` are those of the reservation. */
export function holdText(token: string, { key, policy, policies, plan }: Fields): string {
  return Buffer.from(JSON.stringify([token, { key, policy, policies, plan }])).toString('base64url');
}

/** The policies hold now that are looked up now: a plan that has changed meanwhile counts as it is. */
export function readHold(text: string, config: Config, now: number): ReadHold {
  const [token, asked] = parsed(text);
  if (typeof token !== 'string' || !isFields(asked)) throw unknownHold();
  return { token, ...readAsk(readItem(asked, 'hold.', ASK_FIELDS), 'hold.', config, now) };
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function unknownHold(): HttpError {
  const message = 'hold: expected the hold that reserve returned, unchanged. This is not a hold.';
  return new HttpError(404, 'unknown_hold', message, { path: 'hold' });
}
