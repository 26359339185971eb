/** A Map behind a bad network, as a stand-in for your database: replies come late, in any order, or not at all. */

/** What stands under a key. The token is new with every write, so it tells one write from another. */
export interface Entry {
  readonly value: Uint8Array;
  readonly token: string;
  /** The service may forget the entry from then on: milliseconds since the Unix epoch, on the service's clock. */
  readonly expires: number;
}

/** How the network behaves. */
export interface Network {
  /** From 0 to below 1, as `Math.random`. A seeded one makes a run repeatable. */
  random(): number;
  /** The part of all calls whose request or reply is lost, from 0 to 1. */
  readonly loss: number;
}

/** A call that was not answered. Whether it was carried out, nobody knows. */
export class NoReply extends Error {}

/** A key-value service that can compare and set. */
export class FarMap {
  readonly #entries = new Map<string, Entry>();
  readonly #network: Network;
  readonly #now: () => number;

  /** `now` is the service's own clock, in milliseconds. */
  constructor(network: Network, now: () => number = Date.now) {
    this.#network = network;
    this.#now = now;
  }

  /** The entry of a key, and the service's time. */
  get(key: string): Promise<{ readonly entry: Entry | undefined; readonly now: number }> {
    return this.#call(() => ({ entry: this.#entries.get(key), now: this.#now() }));
  }

  /** Writes `next` (undefined: deletes) if the token under the key is still `expected`, and says whether it did. */
  compareAndSet(key: string, next: Entry | undefined, expected: string | undefined): Promise<boolean> {
    return this.#call(() => {
      if (this.#entries.get(key)?.token !== expected) return false;
      if (next === undefined) this.#entries.delete(key);
      else this.#entries.set(key, next);
      return true;
    });
  }

  /** Forgets what has expired. A real service does so by itself. */
  sweep(): number {
    for (const [key, { expires }] of this.#entries) if (expires <= this.#now()) this.#entries.delete(key);
    return this.#entries.size;
  }

  async #call<T>(carryOut: () => T): Promise<T> {
    await this.#travel();
    const reply = carryOut();
    await this.#travel();
    return reply;
  }

  /** One way through the network: up to four turns of the event loop, or nowhere. */
  async #travel(): Promise<void> {
    const turns = Math.floor(this.#network.random() * 5);
    const isLost = this.#network.random() < this.#network.loss / 2;
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    if (isLost) throw new NoReply('no reply');
  }
}
