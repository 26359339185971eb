/**
 * What happened: the arrivals, and beside them what each row was told. Columns of numbers in a ring, so that a long run takes no more
 * memory than a short one. Times are milliseconds of the lab: those of the engine's clock, less where the lab began.
 */
import { type Answer, Answers, type Counts, type Outcome, TRACE_CAPACITY } from './answers.ts';
import { milliseconds, wholeMicroseconds, windowNumber } from './clock-windows.ts';

export type RowId = string;

export interface Arrival {
  readonly at: number;
  /** Which of the clients sends it. */
  readonly client: number;
  readonly cost: number;
  /** The one row it is for. Default: all of them. */
  readonly only?: RowId | undefined;
}

/** What the trace has to know of a row to keep its books. */
export interface TracedRow {
  readonly id: RowId;
  /** How many policies it asks at the same time. */
  readonly policies: number;
  /** The size of the windows of the clock that it counts in, in milliseconds; Infinity when it does not. */
  readonly clockWindow: number;
  /** Within which time its limit is meant, in milliseconds. */
  readonly window: number;
}

/** Slots are rounded to microseconds, so that those of two windows may lie closer than a window by as much: that is no excess. */
const ROUNDING = 0.002;

export class Trace {
  readonly at = new Float64Array(TRACE_CAPACITY);
  readonly client = new Uint8Array(TRACE_CAPACITY);
  readonly cost = new Float64Array(TRACE_CAPACITY);
  readonly rows: Readonly<Record<RowId, Answers>>;
  readonly #order: readonly RowId[];
  /** Arrivals since the last clearing: numbered from 0, whether they are still remembered or not. */
  length = 0;
  /** Goes up with each clearing, so that what was drawn from the trace knows that it is out of date. */
  generation = 0;

  constructor(rows: readonly Pick<TracedRow, 'id' | 'policies'>[]) {
    this.#order = rows.map(({ id }) => id);
    this.rows = Object.fromEntries(rows.map(({ id, policies }) => [id, new Answers(policies)]));
  }

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
    for (const answers of Object.values(this.rows)) answers.clear();
  }

  /**
   * Appends an arrival with the answers of all rows, in their order; undefined of those that were not asked. `origin` is the lab's time 0 on the
   * clock that decided.
   */
  append(
    { at, client, cost }: Arrival,
    answers: readonly (Answer | undefined)[],
    rows: readonly TracedRow[],
    origin: number,
  ): void {
    const slot = this.slot(this.length);
    const before = this.lastOf(client, this.length - 1);
    this.at[slot] = at;
    this.client[slot] = client;
    this.cost[slot] = cost;
    this.#order.forEach((_, index) => {
      this.#write(slot, before, this.length - 1, rows[index]!, answers[index], origin);
    });
    this.length += 1;
  }

  /** Other answers of one row to the same arrivals, all of which are still remembered. */
  rewrite(row: TracedRow, answers: readonly (Answer | undefined)[], origin: number): void {
    this.rows[row.id]!.clear();
    answers.forEach((answer, index) => {
      this.#write(index, this.lastOf(this.client[index]!, index - 1), index - 1, row, answer, origin);
    });
    this.generation += 1;
  }

  /** `before`: the last arrival of the same client; `previous`: the last arrival of anybody. */
  #write(
    slot: number,
    before: number,
    previous: number,
    row: TracedRow,
    answer: Answer | undefined,
    origin: number,
  ): void {
    const own = this.rows[row.id]!;
    own.asked[slot] = answer === undefined ? 0 : 1;
    own.allowed[slot] = answer?.allowed === true ? 1 : 0;
    own.delay[slot] = answer?.allowed === true ? milliseconds(answer.delay ?? 0) : 0;
    own.worst[slot] = previous < this.first ? 0 : own.worst[this.slot(previous)]!;
    own.longestWait[slot] = previous < this.first ? 0 : own.longestWait[this.slot(previous)]!;
    this.#carryWindows(own, slot, before, row.clockWindow, origin);
    if (answer === undefined) return;
    this.#writeAnswer(own, slot, answer);
    if (answer.allowed) this.#admit(own, slot, row.window);
    this.#count(own, slot);
  }

  #writeAnswer(own: Answers, slot: number, answer: Answer): void {
    const at = this.at[slot]!;
    own.limit[slot] = answer.limit;
    own.remaining[slot] = answer.remaining;
    own.retryAfter[slot] = answer.allowed ? 0 : milliseconds(answer.retryAfter ?? Number.POSITIVE_INFINITY);
    own.resetAt[slot] = wholeMicroseconds(at + answer.resetAfter * 1000);
    own.parts.forEach((part, index) => {
      const decision = answer.decisions?.[index];
      part.remaining[slot] = decision?.remaining ?? answer.remaining;
      part.resetAt[slot] = wholeMicroseconds(at + (decision?.resetAfter ?? answer.resetAfter) * 1000);
    });
    const wait = answer.allowed ? own.delay[slot]! : own.retryAfter[slot]!;
    own.longestWait[slot] = Math.max(own.longestWait[slot]!, wait);
  }

  #admit(own: Answers, slot: number, window: number): void {
    const [acts, cost] = [wholeMicroseconds(this.at[slot]! + own.delay[slot]!), this.cost[slot]!];
    const admissions = own.admissions[this.client[slot]!]!;
    admissions.append(acts, cost);
    own.inWindow[slot]! += cost;
    own.worst[slot] = Math.max(own.worst[slot]!, admissions.within(acts - window + ROUNDING, acts));
  }

  #count(own: Answers, slot: number): void {
    const counts = own.counts[this.client[slot]!]!;
    if (own.allowed[slot] === 1) counts.allowed += 1;
    else counts.denied += 1;
    if (own.delay[slot]! === 0) return;
    counts.delayed += 1;
    own.hasDelays = true;
  }

  /** What the windows of the clock hold before this arrival is decided. */
  #carryWindows(own: Answers, slot: number, before: number, size: number, origin: number): void {
    const [inWindow, inPrevious] = before < 0 ? [0, 0] : windowCounts(this, own, before, this.at[slot]!, size, origin);
    own.inWindow[slot] = inWindow;
    own.inPrevious[slot] = inPrevious;
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

  /** The last arrival of a client, up to and including `index`, that a row was asked about, or allowed, or -1. */
  lastWhere(column: 'asked' | 'allowed', id: RowId, client: number, index: number): number {
    const marks = this.rows[id]![column];
    for (let at = index; at >= this.first; at -= 1) {
      const slot = this.slot(at);
      if (marks[slot] === 1 && this.client[slot] === client) return at;
    }
    return -1;
  }

  /** Undefined when the row was not asked. */
  outcome(id: RowId, index: number): Outcome | undefined {
    const own = this.rows[id]!;
    const slot = this.slot(index);
    if (own.asked[slot] === 0) return undefined;
    if (own.allowed[slot] === 0) return 'denied';
    return own.delay[slot]! > 0 ? 'delayed' : 'allowed';
  }

  /** Counts up to and including an arrival: all there were, less those that came later. */
  countsUpTo(id: RowId, client: number, index: number): Counts {
    const counts = { ...this.rows[id]!.counts[client]! };
    for (let later = Math.max(index + 1, this.first); later < this.length; later += 1) {
      if (this.client[this.slot(later)] !== client) continue;
      const outcome = this.outcome(id, later);
      if (outcome === undefined) continue;
      if (outcome === 'denied') counts.denied -= 1;
      else counts.allowed -= 1;
      if (outcome === 'delayed') counts.delayed -= 1;
    }
    return counts;
  }
}

/** What a client was allowed in the window of the clock that `time` lies in and in the one before, told by its arrival number `index`. */
export function windowCounts(
  trace: Trace,
  own: Answers,
  index: number,
  time: number,
  size: number,
  origin: number,
): [current: number, previous: number] {
  const slot = trace.slot(index);
  if (!Number.isFinite(size)) return [own.inWindow[slot]!, 0];
  const passed = windowNumber(time + origin, size) - windowNumber(trace.at[slot]! + origin, size);
  if (passed <= 0) return [own.inWindow[slot]!, own.inPrevious[slot]!];
  return passed === 1 ? [0, own.inWindow[slot]!] : [0, 0];
}
