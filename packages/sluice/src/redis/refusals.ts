/**
 * What no waiting mends: the server refuses what Sluice needs, and will go on doing so until somebody changes the setup. That is not an
 * outage, so no fallback answers in its place: it is said in a sentence, to every attempt.
 */
import { mistaken, type SluiceError } from '../model/errors.ts';

/** How the server's words begin, and what to do about each. */
const CURES: readonly (readonly [pattern: RegExp, cure: string])[] = [
  [/\bWRONGPASS\b|invalid username-password/, 'Check the user name and the password of the client.'],
  [/\bNOAUTH\b|Authentication required/, 'The server wants a password: give it to the client.'],
  [
    /\bNOPERM\b|has no permissions|ACL failure|can't run this command/,
    'Allow the user of the client: +evalsha +eval +time +get +set +setrange +getrange +incrby +pexpireat +pexpire +pttl +mget +del (and +wait for the option `wait`), on the keys that begin with the prefix.',
  ],
  [/\bWRONGTYPE\b/, 'Another program uses the same key: give redisStore a `prefix` of its own.'],
  [/unknown command/i, 'The server does not run Lua scripts, or has renamed a command that Sluice needs.'],
  [/\bSLUICE_CLOCKS\b/, 'Synchronise the clocks: either may be wrong.'],
  [/\bREADONLY\b/, 'The client talks to a replica, which cannot be written to: connect it to the primary.'],
];

/** During a failover a server that was written to a moment ago is a replica for a while: that passes. */
const PASSES = /\bREADONLY\b/;

/** The error in a sentence; undefined when it is none of these. */
export function refusalOf(error: unknown, hasSucceeded: boolean): SluiceError | undefined {
  const text = messageOf(error);
  if (hasSucceeded && PASSES.test(text)) return undefined;
  const [, cure] = CURES.find(([pattern]) => pattern.test(text)) ?? [];
  if (cure === undefined) return undefined;
  return mistaken('SLUICE_STORE_REFUSES', 'store', `Redis answered: "${text}". ${cure}`, error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
