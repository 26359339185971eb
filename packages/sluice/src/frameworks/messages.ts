/**
 * What limits of messages have in common, on `ws` and on Socket.IO: a connection asks for one message after the other, so that they keep their order, and
 * those that wait are bounded.
 */
import type { GateDecision, RequestResult } from '../http/gate.ts';
import { inBackground } from '../model/maybe-promise.ts';
import { invalidOption } from '../model/options.ts';
import { type Call, CallView, type Refusal, refusalOf } from './calls.ts';
import { type Entrance, entranceOf, type RateLimitOptions } from './options.ts';
import type { OutcomeOptions } from './outcome.ts';

/** Options that make no sense where nothing ends. */
export type MessageLimitOptions<Native, Context> = Omit<
  RateLimitOptions<Native, Context>,
  'onDenied' | 'headers' | 'missing' | Exclude<keyof OutcomeOptions<unknown>, 'onError'>
>;

const NOT_FOR_MESSAGES = ['headers', 'missing', 'countOnly', 'settle', 'settleWithin'] as const;

/** `own`: options of the door itself. `onDenied` is its, too. */
export function messageEntrance<Native, Context>(
  options: MessageLimitOptions<Native, Context>,
  path: string,
  own: readonly string[],
): Entrance<Native> {
  for (const name of NOT_FOR_MESSAGES) {
    if ((options as Record<string, unknown>)[name] === undefined) continue;
    throw invalidOption(
      `${path}.${name}`,
      'nothing: a message has no response',
      (options as Record<string, unknown>)[name],
    );
  }
  const { onDenied: _, ...rest } = options as RateLimitOptions<Native, Context>;
  return entranceOf(rest, { path, own });
}

/** What becomes of a message. */
export interface Verdict {
  readonly result: RequestResult | undefined;
  /** Undefined when it is allowed. */
  readonly refusal: Refusal | undefined;
}

/** Messages of one connection that may wait for an answer of the store. With more, the connection is paused, or its messages denied. */
export const MOST_WAITING = 100;

/** One for each connection. */
export class Turns<Native> {
  readonly #entrance: Entrance<Native>;
  readonly #onError: (error: unknown) => void;
  #last: Promise<unknown> | undefined;
  #waiting = 0;

  constructor(entrance: Entrance<Native>, onError: (error: unknown) => void) {
    this.#entrance = entrance;
    this.#onError = onError;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Asks when those before have been answered. `act` is not called when the limiter fails: then `onError` is. */
  ask(call: Call<Native>, act: (verdict: Verdict) => unknown): Promise<void> {
    this.#waiting += 1;
    const asked = this.#last === undefined ? this.#enter(call, act) : this.#last.then(() => this.#enter(call, act));
    const done = asked.catch(this.#onError).then(() => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#last = undefined;
    });
    this.#last = done;
    return done;
  }

  async #enter(call: Call<Native>, act: (verdict: Verdict) => unknown): Promise<void> {
    const entered = this.#entrance.enter(new CallView(call));
    const decision: GateDecision = await entered;
    // A message holds no place: it is over when it has been handed on.
    if (decision.allowed) inBackground(() => decision.permit?.release());
    const refusal = decision.allowed ? undefined : refusalOf(decision.response, decision.result);
    act({ result: decision.result, refusal });
  }
}
