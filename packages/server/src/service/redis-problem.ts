/** Why Redis does not do what it is asked, in a sentence with a cause and a cure; and whether waiting can help. */
import { addressText, parseRedisAddress } from './redis-address.ts';

export interface RedisProblem {
  readonly sentence: string;
  /** No waiting mends it: the address, the password or the rights are wrong. */
  readonly isPermanent: boolean;
}

/** What a user of Redis has to be allowed to do for Sluice. A test asks with no more than this. */
export const NEEDED_COMMANDS = [
  ...['PING', 'INFO', 'EVALSHA', 'EVAL', 'TIME', 'GET', 'MGET', 'GETRANGE', 'SET', 'SETRANGE', 'INCRBY'],
  ...['PTTL', 'PEXPIRE', 'PEXPIREAT', 'DEL'],
];

interface Cause {
  readonly pattern: RegExp;
  readonly isPermanent: boolean;
  say(where: string, said: string): string;
}

const CAUSES: readonly Cause[] = [
  {
    pattern: /WRONGPASS|invalid password|invalid username-password/i,
    isPermanent: true,
    say: (where) => `${where} rejects this user and password. Check the address, or --redis-password.`,
  },
  {
    pattern: /NOAUTH/,
    isPermanent: true,
    say: (where) =>
      `${where} needs a password and got none. Put it into the address, or set --redis-password (SLUICE_REDIS_PASSWORD).`,
  },
  {
    pattern: /NOPERM|can't run this command/,
    isPermanent: true,
    say: (where, said) =>
      `${where} does not allow this user to run what limits need: ${said}. ` +
      `It needs ${NEEDED_COMMANDS.join(', ')}, on keys that begin with the --prefix.`,
  },
  {
    pattern: /DB index is out of range|invalid DB index/i,
    isPermanent: true,
    say: (where) => `${where} has no database of that number.`,
  },
  {
    pattern: /cluster support disabled/,
    isPermanent: true,
    say: (where) => `${where} is not a cluster: use redis:// instead of redis+cluster://.`,
  },
  {
    pattern: /unknown command/i,
    isPermanent: true,
    say: (where, said) => `${where} does not know a command that limits need: ${said}.`,
  },
  {
    pattern: /READONLY/,
    isPermanent: false,
    say: (where) => `${where} is a replica that takes no writes. Give the address of the primary.`,
  },
  {
    pattern: /LOADING/,
    isPermanent: false,
    say: (where) => `${where} is still reading its data from disk.`,
  },
  {
    pattern: /ENOTFOUND|EAI_AGAIN/,
    isPermanent: false,
    say: (where) => `${where}: the host name is unknown.`,
  },
  {
    pattern: /ECONNREFUSED/,
    isPermanent: false,
    say: (where) => `${where} refuses the connection: nothing listens there.`,
  },
  {
    pattern: /certificate|SELF_SIGNED|UNABLE_TO_VERIFY/i,
    isPermanent: false,
    say: (where, said) => `The certificate of ${where} is not trusted (${said}). Give its authority with --redis-ca.`,
  },
  {
    pattern: /ETIMEDOUT|no answer within|EHOSTUNREACH|ENETUNREACH/,
    isPermanent: false,
    say: (where) =>
      `${where} does not answer. Is it running, does a firewall block the way, and does it speak TLS or not as the address says?`,
  },
];

/** `redis` is the address; what it holds of credentials is not told. */
export function redisProblem(error: unknown, redis: string): RedisProblem {
  const where = `Redis at ${addressText(parseRedisAddress(redis))}`;
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  const said = message.split('\n')[0]!.slice(0, 200);
  const cause = CAUSES.find(({ pattern }) => pattern.test(`${code} ${said}`));
  if (cause === undefined) return { sentence: `${where} fails: ${said}.`, isPermanent: false };
  return { sentence: cause.say(where, said), isPermanent: cause.isPermanent };
}
