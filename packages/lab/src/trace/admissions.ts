/** What one client was allowed by one row: when it acts and how much in all until then, in a ring. Slots of a queue come in order as well. */
export class Admissions {
  readonly #at: Float64Array;
  readonly #total: Float64Array;
  #length = 0;
  #sum = 0;

  /** How many are remembered. */
  constructor(capacity: number) {
    this.#at = new Float64Array(capacity);
    this.#total = new Float64Array(capacity);
  }

  append(at: number, cost: number): void {
    this.#sum += cost;
    this.#at[this.#length % this.#at.length] = at;
    this.#total[this.#length % this.#at.length] = this.#sum;
    this.#length += 1;
  }

  clear(): void {
    this.#length = 0;
    this.#sum = 0;
  }

  /** Units after `from`, up to and including `to`. */
  within(from: number, to: number): number {
    return this.#until(to) - this.#until(from);
  }

  #until(time: number): number {
    const first = Math.max(0, this.#length - this.#at.length);
    let [low, high] = [first, this.#length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at[middle % this.#at.length]! <= time) low = middle + 1;
      else high = middle;
    }
    if (low > first) return this.#total[(low - 1) % this.#at.length]!;
    // Of what is forgotten only the sum is known.
    return first === 0 ? 0 : this.#total[first % this.#at.length]!;
  }
}
