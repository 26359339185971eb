/**
 * Whether Redis has ever answered. A server that was given a Redis and has never heard of it is not of use: with a typo in the address it would
 * enforce every limit by itself, alone, for ever. So it is not ready until Redis has done everything once that limits need; what no waiting
 * mends ends it. Once Redis has answered, an outage is what fallbacks are for.
 */
import { createLimiter, fixedWindow, slidingWindowLog } from 'sluice';
import { checkServer, redisStore } from 'sluice/ioredis';
import { errorText, type Log } from './log.ts';
import { connectClient, type RedisClient } from './redis-client.ts';
import { type RedisProblem, redisProblem } from './redis-problem.ts';
import { within } from './within.ts';

export interface RedisStartOptions {
  readonly redis: string;
  readonly prefix?: string | undefined;
  readonly hashKeys?: boolean | undefined;
  /** Rejects when Redis has not answered within this time. Default: it is waited for in the background. */
  readonly requiredWithinMs?: number | undefined;
}

/** The address, the password or the rights are wrong, or Redis is required and not there. */
export class RedisStartError extends Error {}

export const FIRST_TRY_MS = 2000;
const NEXT_TRY_MS = 500;

export class RedisStart {
  readonly #client: RedisClient;
  readonly #options: RedisStartOptions;
  readonly #log: Log;
  #hasAnswered = false;
  #isConnecting = false;
  #isStopped = false;
  #problem: RedisProblem | undefined;
  #lastError: unknown;
  #fail: (error: RedisStartError) => void = () => {};
  /** Rejects when Redis turns out to be wrong while the service runs already. */
  readonly failed: Promise<never>;

  constructor(client: RedisClient, options: RedisStartOptions, log: Log) {
    this.#client = client;
    this.#options = options;
    this.#log = log;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Whoever does not look at it need not.
    this.failed.catch(() => {});
    client.on('error', (error) => {
      this.#lastError = (error as { lastNodeError?: unknown }).lastNodeError ?? error;
    });
  }

  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** What is wrong, as far as it is known. */
  get problem(): string | undefined {
    return this.#problem?.sentence;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Resolves after the first try, whatever came of it. Rejects with a RedisStartError. */
  async begin(): Promise<void> {
    const { requiredWithinMs } = this.#options;
    const endsAt = performance.now() + (requiredWithinMs ?? 0);
    await this.#try();
    while (!this.#hasAnswered && performance.now() < endsAt) {
      await later(NEXT_TRY_MS);
      await this.#try();
    }
    if (this.#hasAnswered) return;
    if (requiredWithinMs !== undefined) throw new RedisStartError(`${this.problem} --require-redis was given.`);
    this.#log.warn(`${this.problem} The server is not ready until it answers.`, { error: errorText(this.#lastError) });
    void this.#goOn();
  }

  /** Asks Redis whether it is there, and remembers why not. */
  async isUp(timeoutMs: number): Promise<boolean> {
    try {
      await within(timeoutMs, this.#client.ping());
      if (this.#hasAnswered) this.#problem = undefined;
      return true;
    } catch (error) {
      this.#problem = this.#problemOf(error);
      return false;
    }
  }

  async #goOn(): Promise<void> {
    while (!this.#hasAnswered && !this.#isStopped) {
      await later(NEXT_TRY_MS);
      try {
        if (!this.#isStopped) await this.#try();
      } catch (error) {
        this.#fail(error as RedisStartError);
        return;
      }
    }
    if (this.#hasAnswered) this.#log.info('Redis answers: the server is ready now');
  }

  async #try(): Promise<void> {
    try {
      await within(FIRST_TRY_MS, this.#connect());
      await within(FIRST_TRY_MS, this.#doEverything());
      this.#hasAnswered = true;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = this.#problemOf(error);
      this.#lastError = this.#lastError ?? error;
      if (this.#problem.isPermanent) throw new RedisStartError(this.#problem.sentence);
      return;
    }
    await within(FIRST_TRY_MS, this.#warn()).catch(() => {});
  }

  /** ioredis itself goes on trying; a second connect would be an error. */
  async #connect(): Promise<void> {
    if (this.#isConnecting) {
      await this.#client.ping();
      return;
    }
    this.#isConnecting = true;
    await connectClient(this.#client);
  }

  /** Everything that scripts do is done once, under keys that nobody else has, and which are gone afterwards. */
  async #doEverything(): Promise<void> {
    const { prefix, hashKeys } = this.#options;
    const store = redisStore(this.#client, { raw: true, prefix, hashKeys });
    const numbers = { limit: 1_000_000, window: '1h' } as const;
    const policies = [fixedWindow, slidingWindowLog].map((make) => make({ name: 'sluice-start', ...numbers }));
    for (const policy of policies) {
      const limiter = createLimiter({ policy, store });
      await limiter.attempt('one');
      await Promise.all(['one', 'two'].map((key) => limiter.attempt(key)));
      await Promise.all(['one', 'two'].map((key) => limiter.reset(key)));
    }
  }

  async #warn(): Promise<void> {
    for (const { message, code } of await checkServer(this.#client)) this.#log.warn(message, { code });
  }

  /** Errors of a connection come by themselves; whoever waits for an answer only hears that there is none. */
  #problemOf(error: unknown): RedisProblem {
    const problem = redisProblem(error, this.#options.redis);
    if (problem.isPermanent || this.#lastError === undefined || isReply(error)) return problem;
    return redisProblem(this.#lastError, this.#options.redis);
  }
}

function isReply(error: unknown): boolean {
  return (error as Error | undefined)?.name === 'ReplyError';
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
