/**
 * A limit in flight that finds itself, for one process: it follows how long requests take, and sheds what is least important first. Nothing waits
 * and nothing is shared; `concurrency` is for limits that are known and hold for all processes.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { unknownName } from '../model/did-you-mean.ts';
import { Kind } from '../model/errors.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Controller, type ControlState, vegas } from './controllers.ts';

/** What `adaptiveLimit` takes. */
export interface AdaptiveOptions<Priority extends string = never> {
  /** How the limit follows. Default: `vegas()`. */
  readonly controller?: Controller | undefined;
  /**
   * The share of the limit that each priority may fill, above 0 and at most 1: `{ interactive: 1, batch: 0.5 }`. The smaller it is, the sooner such
   * requests are denied. Without a priority a request may fill all of it.
   */
  readonly priorities?: Readonly<Record<Priority, number>> | undefined;
  /** Called with the new limit when its whole part has changed. */
  readonly onChange?: ((limit: number) => void) | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

/** What became of a request: `done` teaches the limit, `dropped` lowers it, `ignored` says nothing, as for a request that was wrong. */
export type Outcome = 'done' | 'dropped' | 'ignored';

/** A place, or none. */
export interface AdaptivePermit {
  readonly allowed: boolean;
  /** Gives the place back, once. Default: `done`. */
  release(outcome?: Outcome): void;
  /** For `using`: as `release()`. */
  [Symbol.dispose](): void;
}

/** A limit that follows latency. Made by `adaptiveLimit`. */
export interface AdaptiveLimit<Priority extends string = never> {
  /** How many may be in flight now. */
  readonly limit: number;
  readonly inFlight: number;
  /** Takes a place if there is one for this priority. Synchronous. */
  enter(options?: { readonly priority?: Priority | undefined }): AdaptivePermit;
}

/** A window ends when so many requests have ended and so much time has passed, in milliseconds. */
const ENOUGH = 10;
const WINDOW_MS = 100;

/**
 * A limit in flight that follows latency, within this process.
 *
 * @example
 * const limit = adaptiveLimit({ priorities: { interactive: 1, batch: 0.5 } });
 * const permit = limit.enter({ priority: 'batch' });
 * if (!permit.allowed) return new Response(null, { status: 503 });
 */
export function adaptiveLimit<const Priority extends string = never>(
  options: AdaptiveOptions<Priority> = {},
): AdaptiveLimit<Priority> {
  checkOptionNames(options, ['controller', 'priorities', 'onChange', 'clock'], 'adaptiveLimit');
  const { controller = vegas(), priorities = {}, onChange, clock = monotonicClock } = options;
  checkClock(clock, 'adaptiveLimit.clock');
  if (typeof controller?.next !== 'function') {
    throw invalidOption('adaptiveLimit.controller', 'a controller, such as vegas()', Kind.of(controller));
  }
  if (onChange !== undefined && typeof onChange !== 'function') {
    throw invalidOption('adaptiveLimit.onChange', 'a function', Kind.of(onChange));
  }
  for (const [name, share] of Object.entries(priorities)) {
    if (typeof share === 'number' && share > 0 && share <= 1) continue;
    throw invalidOption(`adaptiveLimit.priorities.${name}`, 'a share above 0 and at most 1', share);
  }
  return new FollowingLimit(controller, new Map(Object.entries(priorities as Record<string, number>)), onChange, clock);
}

class FollowingLimit implements AdaptiveLimit<string> {
  readonly #controller: Controller;
  readonly #shares: ReadonlyMap<string, number>;
  readonly #onChange: AdaptiveOptions['onChange'];
  readonly #clock: Clock;
  #state: ControlState;
  #inFlight = 0;
  /** Of the window that is open. */
  #since: number;
  #most = 0;
  #ended = 0;
  #took = 0;
  #dropped = false;

  constructor(
    controller: Controller,
    shares: ReadonlyMap<string, number>,
    onChange: AdaptiveOptions['onChange'],
    clock: Clock,
  ) {
    this.#controller = controller;
    this.#shares = shares;
    this.#onChange = onChange;
    this.#clock = clock;
    this.#state = controller.first;
    this.#since = clock.now();
  }

  get limit(): number {
    return Math.max(1, Math.floor(this.#state.limit));
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  enter({ priority }: { readonly priority?: string | undefined } = {}): AdaptivePermit {
    // A share of a small limit is still a place, or a priority would never be served.
    const most = Math.max(1, Math.floor(this.#state.limit * this.#shareOf(priority)));
    if (this.#inFlight >= most) return DENIED;
    this.#inFlight += 1;
    this.#most = Math.max(this.#most, this.#inFlight);
    const since = this.#clock.now();
    let isHeld = true;
    const release = (outcome: Outcome = 'done'): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#inFlight -= 1;
      if (outcome !== 'ignored') this.#learn(since, outcome === 'dropped');
    };
    return { allowed: true, release, [Symbol.dispose]: () => release() };
  }

  #shareOf(priority: string | undefined): number {
    if (priority === undefined) return 1;
    const share = this.#shares.get(priority);
    if (share !== undefined) return share;
    throw unknownName('SLUICE_INVALID_OPTION', 'enter.priority', 'priority', priority, [...this.#shares.keys()]);
  }

  #learn(since: number, isDropped: boolean): void {
    const now = this.#clock.now();
    this.#ended += 1;
    this.#took += now - since;
    this.#dropped ||= isDropped;
    if (this.#ended < ENOUGH || now - this.#since < WINDOW_MS) return;
    // A clock that counts whole milliseconds may say that nothing took any time.
    const rtt = Math.max(this.#took / this.#ended, 0.001);
    const before = this.limit;
    this.#state = this.#controller.next(this.#state, { inFlight: this.#most, rtt, dropped: this.#dropped });
    this.#since = now;
    this.#most = this.#inFlight;
    this.#ended = 0;
    this.#took = 0;
    this.#dropped = false;
    if (this.limit !== before) this.#onChange?.(this.limit);
  }
}

const DENIED: AdaptivePermit = { allowed: false, release: () => {}, [Symbol.dispose]: () => {} };
