/**
 * The one true store, and the way there: slow, in any order, with losses on both ways. The store itself stops for a while, or starts
 * again with its data, and then whatever was on its way is gone.
 */
import type { Store } from '../../src/index.ts';
import type { MaybePromise } from '../../src/model/maybe-promise.ts';
import type { Answer } from '../../src/model/store.ts';
import type { Random } from '../support/random.ts';
import type { Events } from './events.ts';

/** How bad it is: chances, and microseconds. */
export interface Weather {
  readonly delay: number;
  readonly slow: number;
  readonly lost: number;
  readonly duplicated: number;
}

export interface Receiver {
  /** Carries out on the node, now or when it is awake again; never if it has crashed since. */
  deliver(act: () => void): void;
}

export class Network {
  readonly #events: Events;
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #store: Store;
  #stoppedUntil = 0;
  /** Starts of the store: what was sent before the last one is gone. */
  #starts = 0;

  constructor(events: Events, random: Random, weather: Weather, store: Store) {
    this.#events = events;
    this.#random = random;
    this.#weather = weather;
    this.#store = store;
  }

  stop(micros: number): void {
    this.#stoppedUntil = this.#events.now + micros;
  }

  restart(micros: number): void {
    this.#starts += 1;
    this.stop(micros);
  }

  /** The store as this receiver sees it. */
  for(receiver: Receiver): Store {
    return { ask: (question) => this.#call(receiver, () => this.#store.ask(question)) };
  }

  #call(receiver: Receiver, ask: () => MaybePromise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const lose = (): void => this.#lose(receiver, reject);
      const starts = this.#starts;
      const arrive = (): void => {
        if (this.#starts !== starts) {
          lose();
        } else if (this.#events.now < this.#stoppedUntil) {
          this.#events.at(this.#stoppedUntil, arrive);
        } else {
          const answer = ask();
          this.#reply(receiver, starts, () => resolve(answer), lose);
        }
      };
      if (this.#isLost()) lose();
      else this.#events.after(this.#delay(), arrive);
    });
  }

  #reply(receiver: Receiver, starts: number, resolve: () => void, lose: () => void): void {
    if (this.#isLost()) {
      lose();
      return;
    }
    const deliver = (): void => (this.#starts === starts ? receiver.deliver(resolve) : lose());
    this.#events.after(this.#delay(), deliver);
    if (this.#random.real() < this.#weather.duplicated) this.#events.after(this.#delay(), deliver);
  }

  /** Either the connection breaks, or nobody ever hears of it again. */
  #lose(receiver: Receiver, reject: (error: Error) => void): void {
    if (this.#random.real() < 0.5) return;
    this.#events.after(this.#delay(), () => receiver.deliver(() => reject(new Error('connection lost'))));
  }

  #isLost(): boolean {
    return this.#random.real() < this.#weather.lost;
  }

  #delay(): number {
    const { delay, slow } = this.#weather;
    return delay * (0.5 + this.#random.real()) * (this.#random.real() < slow ? this.#random.whole(2, 200) : 1);
  }
}
