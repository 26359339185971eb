/**
 * What happens right now: requests, decisions by policy, whose they are, and how fast the store is, over the last seconds. Each second has
 * its own numbers in a ring, so memory is bounded and what is old goes by itself. Unlike the metrics it names keys.
 */
import { hrtime } from 'node:process';
import { bucketOf, type LiveDecision, plainSecond, Second } from './live-second.ts';
import { isFallback, LiveStore, type StoreState } from './live-store.ts';
import { historyOf, type LiveSecond, type LiveState, type LiveView, viewOf } from './live-sums.ts';

/** How far back one can look. */
export const MAX_SECONDS = 60;

/** When the clock of this process began, on the one that all processes of the machine share and that no correction of the date moves. */
export function commonOriginMs(): number {
  return Number(hrtime.bigint()) / 1e6 - performance.now();
}

export class Live {
  readonly #now: () => number;
  readonly #originMs: number;
  readonly #startedAt: number;
  readonly #ring: Second[] = [];
  readonly #store: LiveStore;

  /**
   * Milliseconds on a clock that only goes on. `originMs` is added to them where several processes count together: it makes their clocks one
   * (see `commonOriginMs`).
   */
  constructor(now: () => number = () => performance.now(), originMs = 0) {
    this.#now = now;
    this.#originMs = originMs;
    this.#startedAt = now();
    this.#store = new LiveStore(this.#startedAt);
  }

  /** One answer of the store: its decisions, who gave it, and how many seconds that took until now. */
  answered(decisions: readonly LiveDecision[], source: string, seconds: number, now = this.#now()): void {
    const second = this.#secondOf(now);
    second.answers += 1;
    if (isFallback(source)) second.fallbacks += 1;
    if (source === 'store') second.durations[bucketOf(seconds)]! += 1;
    this.#store.answered(source, now);
    second.decided(decisions);
  }

  /** What became of one request, however many policies it was under and however often the store was asked about it. */
  requested(allowed: boolean, now = this.#now()): void {
    const { requests } = this.#secondOf(now);
    if (allowed) requests.allowed += 1;
    else requests.denied += 1;
  }

  /** The last `seconds` whole seconds and the one that has begun. */
  state(seconds: number): LiveState {
    const now = this.#now() + this.#originMs;
    const first = Math.floor(now / 1e3) - seconds;
    // The ring has holes as long as it has not gone round once.
    const recent = this.#ring.filter((second) => second !== undefined && second.number >= first);
    return { now, startedAt: this.#startedAt + this.#originMs, seconds: recent.map(plainSecond) };
  }

  /** What this process alone saw: see `viewOf`. */
  view(seconds: number, top: number, policies?: Iterable<string>): LiveView {
    return viewOf([this.state(seconds)], seconds, top, policies);
  }

  /** What this process alone saw: see `historyOf`. */
  history(seconds: number): readonly LiveSecond[] {
    return historyOf([this.state(seconds)], seconds);
  }

  /** Whether the store is there, as somebody who asked it just now found. */
  storeState(isUp: boolean): StoreState {
    return this.#store.looked(isUp, this.#now());
  }

  #secondOf(now: number): Second {
    const number = Math.floor((now + this.#originMs) / 1e3);
    const place = number % (MAX_SECONDS + 1);
    const found = this.#ring[place];
    if (found?.number === number) return found;
    const fresh = new Second(number);
    this.#ring[place] = fresh;
    return fresh;
  }
}
