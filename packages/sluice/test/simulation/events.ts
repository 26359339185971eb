/** Virtual time: what happens next happens at its time, and things of one time in the order they were planned. Whole microseconds. */

interface Planned {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

export class Events {
  /** The true time, which only the store and the judge can see. */
  now: number;
  steps = 0;
  /** A binary heap, the earliest first. */
  readonly #heap: Planned[] = [];
  #planned = 0;

  constructor(start: number) {
    this.now = start;
  }

  after(micros: number, act: () => void): void {
    this.at(this.now + Math.max(0, Math.round(micros)), act);
  }

  at(at: number, act: () => void): void {
    this.#planned += 1;
    this.#heap.push({ at: Math.max(at, this.now), order: this.#planned, act });
    this.#rise(this.#heap.length - 1);
  }

  /** Lets the next thing happen. False when nothing is left. */
  step(): boolean {
    const next = this.#heap[0];
    if (next === undefined) return false;
    const last = this.#heap.pop()!;
    if (last !== next) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    this.now = next.at;
    this.steps += 1;
    next.act();
    return true;
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      let first = at;
      if (left < this.#heap.length && this.#isBefore(left, first)) first = left;
      if (left + 1 < this.#heap.length && this.#isBefore(left + 1, first)) first = left + 1;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one]!, this.#heap[other]!];
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const kept = this.#heap[one]!;
    this.#heap[one] = this.#heap[other]!;
    this.#heap[other] = kept;
  }
}
