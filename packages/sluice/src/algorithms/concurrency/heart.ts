/**
 * Keeps permits alive while they are held. All permits of one length beat equally often, so they fall due in the order they came: one line and
 * one timer serve all of them, and a permit that is given back before its first beat costs no timer. The timer keeps no program alive.
 */

import { wakeByTimer } from '../../model/clock.ts';
import { MICROS_PER_MS } from '../../model/duration.ts';
import type { Entry } from '../../model/permit.ts';

/** What is kept alive. */
interface Beating {
  /** Says whether to go on. Never rejects. */
  beat(): Promise<boolean>;
}

/** Beats in a ttl: of the three before its end two may be lost. */
const BEATS = 4;

export class Heart {
  /** When each is due, in milliseconds; the earliest first. */
  readonly #dueAt = new Map<Beating, number>();
  readonly #clock: Entry['clock'];
  readonly #sleep: Entry['sleep'];
  readonly #everyMs: number;
  /** Called when there is nothing to keep alive any more. */
  readonly #onRest: () => void;
  #isWound = false;

  constructor({ clock, sleep }: Entry, everyMs: number, onRest: () => void) {
    this.#clock = clock;
    this.#sleep = sleep;
    this.#everyMs = everyMs;
    this.#onRest = onRest;
  }

  add(permit: Beating): void {
    this.#dueAt.set(permit, this.#clock.now() + this.#everyMs);
    if (!this.#isWound) this.#wind(this.#everyMs);
  }

  remove(permit: Beating): void {
    this.#dueAt.delete(permit);
  }

  #wind(ms: number): void {
    this.#isWound = true;
    if (this.#sleep === undefined) wakeByTimer(ms, this.#beatDue);
    else void this.#sleep(ms).then(this.#beatDue);
  }

  readonly #beatDue = (): void => {
    this.#isWound = false;
    const now = this.#clock.now();
    for (const [permit, dueAt] of this.#dueAt) {
      if (dueAt > now) {
        this.#wind(dueAt - now);
        return;
      }
      this.#dueAt.delete(permit);
      // From now on and not from the answer: what is lost or late is tried again as early as if it had come.
      this.#dueAt.set(permit, now + this.#everyMs);
      void permit.beat().then((goesOn) => {
        if (!goesOn) this.remove(permit);
      });
    }
    this.#onRest();
  };
}

/** One for each clock and length. */
const hearts = new WeakMap<object, Map<number, Heart>>();

/** `ttl` in microseconds. */
export function heartOf(entry: Entry, ttl: number): Heart {
  const byLength = hearts.get(entry.clock) ?? new Map<number, Heart>();
  hearts.set(entry.clock, byLength);
  const everyMs = ttl / MICROS_PER_MS / BEATS;
  const heart = byLength.get(everyMs) ?? new Heart(entry, everyMs, () => byLength.delete(everyMs));
  byLength.set(everyMs, heart);
  return heart;
}
