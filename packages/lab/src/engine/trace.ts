/**
 * What happened: the arrivals, and beside them what each card was told. Columns of numbers in a ring, so that a long run takes no more
 * memory than a short one. Times are milliseconds of the lab: those of the engine's clock, less where the lab began.
 */
import type { RateLimitResult } from 'sluice';
import { CARD_IDS, type CardId, type Policies } from '../cards/catalog.ts';

export interface Arrival {
  readonly at: number;
  /** Which of the clients sends it. */
  readonly client: number;
  readonly cost: number;
}

/** What an answer must say. The server's are JSON, in which Infinity is null. */
export type Answer = Pick<RateLimitResult, 'allowed' | 'remaining' | 'retryAfter' | 'resetAfter' | 'delay'>;

export type Outcome = 'allowed' | 'delayed' | 'denied';

export interface Counts {
  allowed: number;
  /** Allowed, to act later. Counted among the allowed as well. */
  delayed: number;
  denied: number;
}

/** Arrivals that are remembered: 80 s of 200 a second. */
export const TRACE_CAPACITY = 16_384;
export const MAX_CLIENTS = 2;

/** What one client was granted by one card: when it acts and how much in all until then, in a ring. Slots of a queue come in order as well. */
export class Admissions {
  readonly #at = new Float64Array(TRACE_CAPACITY / 2);
  readonly #total = new Float64Array(TRACE_CAPACITY / 2);
  #length = 0;
  #sum = 0;

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

/** One card's answers, at the same places as the arrivals. */
export class Answers {
  readonly allowed = new Uint8Array(TRACE_CAPACITY);
  readonly remaining = new Float64Array(TRACE_CAPACITY);
  /** Milliseconds; 0 when allowed, Infinity for never. */
  readonly retryAfter = new Float64Array(TRACE_CAPACITY);
  /** The moment the client is as good as new: with the policy, this is the whole state of most algorithms. */
  readonly resetAt = new Float64Array(TRACE_CAPACITY);
  /** Milliseconds until it may act. */
  readonly delay = new Float64Array(TRACE_CAPACITY);
  /** What this client was granted in the window of the clock this arrival is in, and in the one before. */
  readonly inWindow = new Float64Array(TRACE_CAPACITY);
  readonly inPrevious = new Float64Array(TRACE_CAPACITY);
  readonly counts: Counts[] = Array.from({ length: MAX_CLIENTS }, noCounts);
  readonly admissions: Admissions[] = Array.from({ length: MAX_CLIENTS }, () => new Admissions());

  clear(): void {
    for (const counts of this.counts) Object.assign(counts, noCounts());
    for (const admissions of this.admissions) admissions.clear();
  }
}

export function noCounts(): Counts {
  return { allowed: 0, delayed: 0, denied: 0 };
}

export class Trace {
  readonly at = new Float64Array(TRACE_CAPACITY);
  readonly client = new Uint8Array(TRACE_CAPACITY);
  readonly cost = new Float64Array(TRACE_CAPACITY);
  readonly cards = Object.fromEntries(CARD_IDS.map((id) => [id, new Answers()])) as Readonly<Record<CardId, Answers>>;
  /** Arrivals since the last clearing: numbered from 0, whether they are still remembered or not. */
  length = 0;
  /** Goes up with each clearing, so that what was drawn from the trace knows that it is out of date. */
  generation = 0;

  /** The oldest arrival that is remembered. */
  get first(): number {
    return Math.max(0, this.length - TRACE_CAPACITY);
  }

  /** Where in the columns arrival number `index` is. */
  slot(index: number): number {
    return index % TRACE_CAPACITY;
  }

  clear(): void {
    this.length = 0;
    this.generation += 1;
    for (const answers of Object.values(this.cards)) answers.clear();
  }

  /** Appends an arrival with the answers of all cards, in the order of `CARD_IDS`. */
  append({ at, client, cost }: Arrival, answers: readonly Answer[], policies: Policies, origin: number): void {
    const slot = this.slot(this.length);
    const before = this.lastOf(client, this.length - 1);
    this.at[slot] = at;
    this.client[slot] = client;
    this.cost[slot] = cost;
    CARD_IDS.forEach((id, index) => {
      this.#write(slot, before, id, answers[index]!, policies, origin);
    });
    this.length += 1;
  }

  #write(slot: number, before: number, id: CardId, answer: Answer, policies: Policies, origin: number): void {
    const card = this.cards[id];
    const [at, cost, counts] = [this.at[slot]!, this.cost[slot]!, card.counts[this.client[slot]!]!];
    card.allowed[slot] = answer.allowed ? 1 : 0;
    card.remaining[slot] = answer.remaining;
    card.retryAfter[slot] = answer.allowed ? 0 : milliseconds(answer.retryAfter ?? Number.POSITIVE_INFINITY);
    card.resetAt[slot] = wholeMicroseconds(at + answer.resetAfter * 1000);
    card.delay[slot] = answer.allowed ? milliseconds(answer.delay ?? 0) : 0;
    if (!answer.allowed) counts.denied += 1;
    else counts.allowed += 1;
    if (card.delay[slot]! > 0) counts.delayed += 1;
    if (answer.allowed) card.admissions[this.client[slot]!]!.append(at + card.delay[slot]!, cost);

    const policy = policies[id];
    const size = 'window' in policy ? policy.window : Number.POSITIVE_INFINITY;
    const [inWindow, inPrevious] = before < 0 ? [0, 0] : windowCounts(this, card, before, at, size, origin);
    card.inWindow[slot] = inWindow + (answer.allowed ? cost : 0);
    card.inPrevious[slot] = inPrevious;
  }

  /** Other answers of one card to the same arrivals, all of which are still remembered. */
  rewrite(id: CardId, answers: readonly Answer[], policies: Policies, origin: number): void {
    this.cards[id].clear();
    answers.forEach((answer, index) => {
      this.#write(index, this.lastOf(this.client[index]!, index - 1), id, answer, policies, origin);
    });
    this.generation += 1;
  }

  /** The last arrival at or before a time, or -1: the trace is in the order of time. */
  lastAt(time: number): number {
    let [low, high] = [this.first, this.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at[this.slot(middle)]! <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1 >= this.first ? low - 1 : -1;
  }

  /** The last arrival of a client up to and including `index`, or -1. */
  lastOf(client: number, index: number): number {
    for (let at = index; at >= this.first; at -= 1) if (this.client[this.slot(at)] === client) return at;
    return -1;
  }

  /** The last arrival of a client, up to and including `index`, that a card allowed, or -1. */
  lastAllowedOf(id: CardId, client: number, index: number): number {
    const { allowed } = this.cards[id];
    for (let at = index; at >= this.first; at -= 1) {
      const slot = this.slot(at);
      if (allowed[slot] === 1 && this.client[slot] === client) return at;
    }
    return -1;
  }

  outcome(id: CardId, index: number): Outcome {
    const card = this.cards[id];
    const slot = this.slot(index);
    if (card.allowed[slot] === 0) return 'denied';
    return card.delay[slot]! > 0 ? 'delayed' : 'allowed';
  }

  /** Counts up to and including an arrival: all there were, less those that came later. */
  countsUpTo(id: CardId, client: number, index: number): Counts {
    const counts = { ...this.cards[id].counts[client]! };
    for (let later = Math.max(index + 1, this.first); later < this.length; later += 1) {
      if (this.client[this.slot(later)] !== client) continue;
      const outcome = this.outcome(id, later);
      if (outcome === 'denied') counts.denied -= 1;
      else counts.allowed -= 1;
      if (outcome === 'delayed') counts.delayed -= 1;
    }
    return counts;
  }
}

/** What a client was granted in the window of the clock that `time` lies in and in the one before, told by its arrival number `index`. */
export function windowCounts(
  trace: Trace,
  card: Answers,
  index: number,
  time: number,
  size: number,
  origin: number,
): [current: number, previous: number] {
  const slot = trace.slot(index);
  if (!Number.isFinite(size)) return [card.inWindow[slot]!, 0];
  const passed = windowNumber(time + origin, size) - windowNumber(trace.at[slot]! + origin, size);
  if (passed <= 0) return [card.inWindow[slot]!, card.inPrevious[slot]!];
  return passed === 1 ? [0, card.inWindow[slot]!] : [0, 0];
}

/** By whole microseconds, as the library counts: a tenth of a second has no exact double. */
export function windowNumber(time: number, size: number): number {
  return Math.floor(Math.round(time * 1000) / Math.round(size * 1000));
}

/** The library's seconds are whole microseconds, and so are all times of the lab. */
function milliseconds(seconds: number): number {
  return wholeMicroseconds(seconds * 1000);
}

export function wholeMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
