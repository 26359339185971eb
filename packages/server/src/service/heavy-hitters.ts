/**
 * The most frequent items of a stream in bounded memory, by Space-Saving (Metwally and others, 2005): there are `capacity` counters, and
 * an item without one takes over the smallest, count and all. So a count is never too low, `error` says by how much it may be too
 * high, and whatever makes up more than 1 / capacity of the stream is surely among them, however many different items were sent.
 */
export interface Hitter {
  readonly item: string;
  /** At least as often as it came. */
  readonly count: number;
  /** And at most by so much too high. */
  readonly error: number;
}

/** What a stream held, as data that can go to another process. */
export interface Hits {
  /** How often an item that is not listed can have come at most. */
  readonly unseen: number;
  readonly hitters: readonly Hitter[];
}

interface Counter {
  item: string;
  count: number;
  error: number;
  /** Its place in the heap. */
  at: number;
}

export class HeavyHitters implements Hits {
  readonly #capacity: number;
  readonly #counters = new Map<string, Counter>();
  /** The smallest count first: no parent is larger than its children. */
  readonly #heap: Counter[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(item: string): void {
    const counter = this.#counters.get(item) ?? this.#counterFor(item);
    counter.count += 1;
    this.#sink(counter);
  }

  /** How often an item without a counter can have come at most. */
  get unseen(): number {
    return this.#heap.length < this.#capacity ? 0 : this.#heap[0]!.count;
  }

  get hitters(): readonly Hitter[] {
    return this.#heap.map(({ item, count, error }) => ({ item, count, error }));
  }

  #counterFor(item: string): Counter {
    const least = this.#heap[0];
    if (least === undefined || this.#heap.length < this.#capacity) return this.#added(item);
    this.#counters.delete(least.item);
    least.item = item;
    least.error = least.count;
    this.#counters.set(item, least);
    return least;
  }

  /** With a count of 0 it is the smallest: it goes to the top, and its forebears one step down. */
  #added(item: string): Counter {
    const counter = { item, count: 0, error: 0, at: this.#heap.length };
    this.#counters.set(item, counter);
    this.#heap.push(counter);
    while (counter.at > 0) this.#swap(counter, this.#heap[(counter.at - 1) >> 1]!);
    return counter;
  }

  #sink(counter: Counter): void {
    for (;;) {
      const left = this.#heap[2 * counter.at + 1];
      const right = this.#heap[2 * counter.at + 2];
      const smaller = right !== undefined && right.count < left!.count ? right : left;
      if (smaller === undefined || smaller.count >= counter.count) return;
      this.#swap(counter, smaller);
    }
  }

  #swap(one: Counter, other: Counter): void {
    [one.at, other.at] = [other.at, one.at];
    this.#heap[one.at] = one;
    this.#heap[other.at] = other;
  }
}

/** The largest of several streams together. What has no counter in one of them may still have been there: that much is added to both numbers. */
export function mostFrequent(streams: readonly Hits[], most: number): readonly Hitter[] {
  const unseen = streams.reduce((sum, stream) => sum + stream.unseen, 0);
  const sums = new Map<string, { item: string; count: number; error: number }>();
  for (const stream of streams) {
    for (const { item, count, error } of stream.hitters) {
      const sum = sums.get(item) ?? { item, count: unseen, error: unseen };
      sum.count += count - stream.unseen;
      sum.error += error - stream.unseen;
      sums.set(item, sum);
    }
  }
  return [...sums.values()]
    .sort((one, other) => other.count - one.count || one.error - other.error || (one.item < other.item ? -1 : 1))
    .slice(0, most);
}
