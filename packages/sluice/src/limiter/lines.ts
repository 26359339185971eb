/** The lines of a limiter: one for each key and set of policies, as long as somebody waits in it. */
import { Kind, SluiceError } from '../model/errors.ts';
import { identityOf, type Policy } from '../model/policy.ts';
import { Line } from './line.ts';

const DEFAULT_QUEUE_LIMIT = 10_000;

export class Lines {
  /** By key, then by what tells the states of their policies apart. */
  readonly #byKey = new Map<string, Map<string, Line>>();
  readonly #queueLimit: number;

  constructor(queueLimit: unknown = DEFAULT_QUEUE_LIMIT) {
    this.#queueLimit = checkQueueLimit(queueLimit);
  }

  waiting(key: string): number {
    let waiting = 0;
    for (const line of this.#byKey.get(key)?.values() ?? []) waiting += line.waiting;
    return waiting;
  }

  /** The line to join. One that is full cannot be joined. */
  lineFor(key: string, policies: readonly Policy[]): Line {
    const lines = this.#byKey.get(key) ?? new Map<string, Line>();
    const identity = JSON.stringify(policies.map(identityOf));
    const line = lines.get(identity) ?? new Line(() => this.#close(key, identity));
    if (line.waiting >= this.#queueLimit) throw queueFull(this.#queueLimit);
    this.#byKey.set(key, lines.set(identity, line));
    return line;
  }

  wakeHeads(key: string): void {
    for (const line of this.#byKey.get(key)?.values() ?? []) line.wakeHead();
  }

  #close(key: string, identity: string): void {
    const lines = this.#byKey.get(key);
    lines?.delete(identity);
    if (lines?.size === 0) this.#byKey.delete(key);
  }
}

function checkQueueLimit(queueLimit: unknown): number {
  if (Number.isSafeInteger(queueLimit) && (queueLimit as number) >= 1) return queueLimit as number;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'createLimiter.queueLimit',
    expected: 'a whole number of at least 1',
    got: queueLimit,
  });
}

function queueFull(queueLimit: number): SluiceError {
  return new SluiceError({
    code: 'SLUICE_QUEUE_FULL',
    path: 'acquire',
    expected: `at most ${queueLimit} waiting for a key`,
    got: new Kind('one more'),
  });
}
