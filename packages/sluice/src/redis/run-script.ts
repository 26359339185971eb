/**
 * The one way Sluice talks to Redis: run a script on the server that owns these keys. A client needs to give no more than a
 * way to send one command. EVALSHA, the server that does not know the script yet, and the one that is away are handled here, once.
 */
import { Kind, wrong } from '../model/errors.ts';
import { Health, type HealthOptions } from '../store/health.ts';
import { refusalOf } from './refusals.ts';
import { PROBE } from './scripts.ts';

/** A Lua script, and the SHA-1 by which Redis knows it after the first call. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/** Runs a script; all keys lie in one slot. */
export type RunScript = (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Sends one command, already split into words, to the server that owns `key`. */
export type SendCommand = (words: string[], key: string) => Promise<unknown>;

/**
 * Runs scripts through any client, by one function that sends a command. Tries EVALSHA first, and EVAL when the server does not know the script yet.
 *
 * @example
 * const store = redisStoreOver(scriptRunner((words) => client.call(...words)));
 */
export function scriptRunner(send: SendCommand): RunScript {
  checkRunner(send, 'scriptRunner(send)', 'a function that sends a command');
  return ({ source, sha1 }, keys, args) => {
    const key = keys[0] ?? '';
    const sent = (command: string, script: string): Promise<unknown> =>
      send([command, script, String(keys.length), ...keys, ...args], key);
    try {
      return sent('EVALSHA', sha1).catch((error: unknown) => {
        // Nothing ran, so nothing was spent: sending it whole is no retry of an attempt. It also teaches the server the script.
        if (!isNoScript(error)) throw error;
        return sent('EVAL', source);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

export function checkRunner(value: unknown, path: string, expected: string): void {
  if (typeof value === 'function') return;
  throw wrong('SLUICE_INVALID_CLIENT', path, expected, Kind.of(value));
}

/** The server's own word for it, and GLIDE's. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message);
}

/** Whether Redis is there: what its errors mean, and how it is tried while it is away. */
export class RedisHealth extends Health {
  readonly #send: SendCommand;

  constructor(send: SendCommand, options: HealthOptions) {
    super(
      {
        name: 'Redis',
        // A write that is gone a millisecond later.
        probe: (key) => send(['EVAL', PROBE, '1', `${key}~`], `${key}~`),
        refusalOf,
        // The server does not know the script yet: the caller sends it whole.
        saysNothing: isNoScript,
      },
      options,
    );
    this.#send = send;
  }

  readonly send: SendCommand = (words, key) => {
    try {
      return this.call(key, () => this.#send(words, key)) as Promise<unknown>;
    } catch (error) {
      return Promise.reject(error);
    }
  };
}
