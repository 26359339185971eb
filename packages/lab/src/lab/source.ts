/** Where requests come from: a script, and traffic that is made. Both are known ahead, so what is about to come can be seen. */
import { wholeMicroseconds } from '../trace/clock-windows.ts';
import type { Arrival } from '../trace/trace.ts';

/** More than this is not looked ahead for. */
const MOST_AHEAD = 400;

export class Source {
  #script: readonly Arrival[] = [];
  #told = 0;
  #times: Iterator<number, never> = never();
  /** Times that were made and have not come yet. */
  readonly #ahead: number[] = [];

  /** What comes by a script from now on. */
  tell(script: readonly Arrival[]): void {
    this.#script = script;
    this.#told = 0;
  }

  /** What is made from now on. */
  make(times: Iterator<number, never>): void {
    this.#times = times;
    this.#ahead.length = 0;
  }

  get isTold(): boolean {
    return this.#told >= this.#script.length;
  }

  /** When the next one comes. */
  get next(): number {
    return Math.min(this.#nextTold(), this.#nextMade());
  }

  /** Takes what comes up to a time, at most so many; those that are made cost `cost`. */
  take(until: number, most: number, cost: number): { readonly arrivals: readonly Arrival[]; readonly isAll: boolean } {
    const arrivals: Arrival[] = [];
    while (arrivals.length < most) {
      const [told, made] = [this.#nextTold(), this.#nextMade()];
      if (Math.min(told, made) > until) return { arrivals, isAll: true };
      if (told <= made) {
        arrivals.push(this.#script[this.#told]!);
        this.#told += 1;
      } else {
        arrivals.push({ at: made, client: 0, cost });
        this.#ahead.shift();
      }
    }
    return { arrivals, isAll: false };
  }

  /** The times of what will come up to a time, in order, without taking it. */
  upcoming(until: number): readonly number[] {
    while (this.#ahead.length < MOST_AHEAD && (this.#ahead.at(-1) ?? 0) <= until)
      this.#ahead.push(this.#times.next().value);
    const made = this.#ahead.filter((at) => at <= until);
    const told = this.scripted(until);
    return made.length === 0 ? told : [...told, ...made].sort((one, other) => one - other);
  }

  /** Only those of the script. */
  scripted(until: number): readonly number[] {
    const told: number[] = [];
    for (let index = this.#told; index < this.#script.length && told.length < MOST_AHEAD; index += 1) {
      if (this.#script[index]!.at > until) break;
      told.push(this.#script[index]!.at);
    }
    return told;
  }

  #nextTold(): number {
    return this.#script[this.#told]?.at ?? Number.POSITIVE_INFINITY;
  }

  #nextMade(): number {
    if (this.#ahead.length === 0) this.#ahead.push(this.#times.next().value);
    return wholeMicroseconds(this.#ahead[0]!);
  }
}

function* never(): Generator<number, never> {
  while (true) yield Number.POSITIVE_INFINITY;
}
