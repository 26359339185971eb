/** Whether Redis is there: what its errors mean, and how it is tried while it is away. */
import { Health, type HealthOptions } from '../store/health.ts';
import { refusalOf } from './refusals.ts';
import { isNoScript, type SendCommand } from './run-script.ts';
import { PROBE } from './scripts.ts';

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
