/** Exceptions on Redis: a STRING that begins with its version, read and written by two small scripts. */
import { checkFlag, checkOptionNames } from '../model/options.ts';
import { checkRunner, type RunScript, type Script } from '../redis/run-script.ts';
import { sha1 } from '../redis/sha1.ts';
import { sha256 } from '../redis/sha256.ts';
import { type ExceptionsPort, VERSION_LENGTH } from './document.ts';

const LAST = VERSION_LENGTH - 1;

const READ = `local version = redis.call('GETRANGE', KEYS[1], 0, ${LAST})
if version == ARGV[1] then return version end
return redis.call('GET', KEYS[1])`;

const SWAP = `if redis.call('GETRANGE', KEYS[1], 0, ${LAST}) ~= ARGV[1] then return '0' end
if ARGV[3] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3]) end
return '1'`;

const DEFAULT_PREFIX = 'sluice';

/** What `redisExceptions` takes besides the way to run a script. */
export interface RedisExceptionsOptions {
  /** As that of the store. Default: `sluice`. */
  readonly prefix?: string | undefined;
  /**
   * As that of the store: whole keys are written as a SHA-256, and listed so. Prefixes and networks stay as they are, because keys are compared with
   * them. All processes must agree. Default: false.
   */
  readonly hashKeys?: boolean | undefined;
}

/**
 * Exceptions that all processes on one Redis share.
 *
 * @example
 * import { redisStore, runScriptWith } from 'sluice/ioredis';
 * const exceptions = sharedExceptions({ port: redisExceptions(runScriptWith(client)) });
 * const limiter = createLimiter({ policy, store: redisStore(client), exceptions });
 */
export function redisExceptions(run: RunScript, options: RedisExceptionsOptions = {}): ExceptionsPort {
  checkRunner(run, 'redisExceptions(runScript)', 'a function that runs scripts, as runScriptWith(client) makes it');
  checkOptionNames(options, ['prefix', 'hashKeys'], 'redisExceptions');
  checkFlag(options.hashKeys, 'redisExceptions.hashKeys');
  const keys = [`${options.prefix ?? DEFAULT_PREFIX}:{%exceptions}`];
  const [read, swap] = [scriptOf(READ), scriptOf(SWAP)];
  return {
    async read(known = '') {
      const reply = await run(read, keys, [known]);
      const text = reply === null || reply === undefined || reply === false ? '' : String(reply);
      if (text === '') return { version: undefined };
      const version = text.slice(0, VERSION_LENGTH);
      return version === known ? { version } : { version, text: text.slice(VERSION_LENGTH) };
    },
    swap: async (text, next, expected = '') => String(await run(swap, keys, [expected, next, text])) === '1',
    ...(options.hashKeys === true ? { nameOf: sha256 } : {}),
  };
}

function scriptOf(source: string): Script {
  return { source, sha1: sha1(source) };
}
