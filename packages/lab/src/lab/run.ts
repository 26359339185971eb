/** One run: rows that are asked about a stream of requests, on one clock. It moves time as it is told and keeps the trace; why time moves is not its business. */
import { BrowserEngine } from '../engine/browser-engine.ts';
import type { Answered, Engine } from '../engine/engine.ts';
import type { SharedLimit } from '../model/limit.ts';
import type { Row } from '../model/row.ts';
import { ONE_CLIENT } from '../model/stories/story.ts';
import { type Arrival, Trace } from '../trace/trace.ts';
import { arrivalTimes, type Traffic } from '../traffic/traffic.ts';
import { Asker } from './asker.ts';
import { replayed } from './replay.ts';
import { ServerClock } from './server-clock.ts';
import { Source } from './source.ts';

/** More than this in one frame and the page would stutter; time then runs slower than asked. */
const MOST_IN_A_FRAME = 600;
/** A server is not asked for what it missed. */
const MISSED_MS = 250;

/** What a run begins with. */
export interface Beginning {
  readonly rows: readonly Row[];
  readonly limit: SharedLimit;
  readonly clients?: readonly string[];
  /** Lab time at which it begins. */
  readonly start?: number;
  readonly script?: readonly Arrival[];
  /** Whether the edges of windows have to lie where the script expects them: in real time it then waits for one. */
  readonly isTimed?: boolean;
}

export class Run {
  rows: readonly Row[];
  trace: Trace;
  clients: readonly string[] = ONE_CLIENT;
  limit: SharedLimit;
  /** The lab's time 0 on the engine's clock. */
  origin = 0;
  start = 0;
  now = 0;
  /** Lab time at which the traffic began that is made. */
  trafficFrom = 0;
  /** By how many milliseconds a request of the script was decided too late, at most. Only in real time. */
  lateness = 0;
  readonly source = new Source();
  readonly asker: Asker;
  readonly #clock = new ServerClock();
  readonly #report: (problem: string | undefined) => void;
  /** As long as everything is being reset. */
  #restarting: Promise<boolean> | undefined;

  constructor(engine: Engine, beginning: Beginning, report: (problem: string | undefined) => void) {
    this.rows = beginning.rows;
    this.limit = beginning.limit;
    this.trace = new Trace(beginning.rows);
    this.#report = report;
    this.asker = new Asker(engine, {
      asked: () => ({ clients: this.clients, rows: this.rows, generation: this.trace.generation }),
      answered: (answers, arrivals) => this.#answered(answers, arrivals),
      report,
    });
    this.#begin(beginning);
  }

  get engine(): Engine {
    return this.asker.engine;
  }

  get isRestarting(): boolean {
    return this.#restarting !== undefined;
  }

  /** Until no reset is under way. */
  async ready(): Promise<void> {
    while (this.#restarting !== undefined) await this.#restarting;
  }

  /** Everything is forgotten, here and on the engine. Resolves to whether nobody wanted something else meanwhile. */
  restart(beginning: Beginning): Promise<boolean> {
    this.asker.forget();
    this.source.tell([]);
    this.trace.clear();
    this.lateness = 0;
    const restarting: Promise<boolean> = this.#renewEngine()
      .catch((error: unknown) => this.#report((error as Error).message))
      .then(() => {
        if (this.#restarting !== restarting) return false;
        this.#restarting = undefined;
        this.#open(beginning);
        return true;
      });
    this.#restarting = restarting;
    return restarting;
  }

  /** Traffic that is made from now on, or from an earlier moment. */
  makeTraffic(traffic: Traffic, from = this.now): void {
    this.trafficFrom = from;
    const target = { limit: this.limit.units, window: this.limit.window, origin: this.origin };
    this.source.make(arrivalTimes(traffic, from, target));
  }

  /** Lets time pass up to a moment, with whatever arrives until then, as far as one frame bears. Only where time is virtual. */
  async advance(target: number, cost: number): Promise<void> {
    const { arrivals, isAll } = this.source.take(target, MOST_IN_A_FRAME, cost);
    this.asker.add(arrivals);
    this.now = isAll ? Math.max(this.now, target) : Math.max(this.now, arrivals.at(-1)!.at);
    await this.asker.ask();
  }

  /** The time of a server goes on by itself; `traffic` begins anew when it was missed. */
  realFrame(isPlaying: boolean, cost: number, traffic: Traffic | undefined): void {
    if (isPlaying) {
      this.now = Math.max(this.now, this.#realTime());
      if (traffic !== undefined && this.source.next < this.now - MISSED_MS) this.makeTraffic(traffic);
      this.asker.add(this.source.take(this.now, MOST_IN_A_FRAME, cost).arrivals);
    }
    void this.asker.askServer();
    this.asker.watch.frame();
  }

  /** Rows with other numbers. As long as all arrivals are remembered, they are asked about all of them again; false when that is not so. */
  async changeRows(rows: readonly Row[], limit: SharedLimit): Promise<boolean> {
    const { engine } = this;
    if (!(engine instanceof BrowserEngine) || this.trace.first > 0) return false;
    const before = this.rows;
    const isSame = (row: Row, index: number): boolean =>
      JSON.stringify(row.draft) === JSON.stringify(before[index]!.draft) && row.window === before[index]!.window;
    this.limit = limit;
    // A limiter is known by its charges, so those that stay as they are keep theirs.
    this.rows = rows.map((row, index) => (isSame(row, index) ? { ...row, charges: before[index]!.charges } : row));
    for (const [index, row] of rows.entries()) {
      if (!isSame(row, index)) await replayed(engine, this.trace, row, this.clients, this.origin);
    }
    return true;
  }

  #open(beginning: Beginning): void {
    const { generation } = this.trace;
    this.rows = beginning.rows;
    this.limit = beginning.limit;
    this.clients = beginning.clients ?? ONE_CLIENT;
    this.trace = new Trace(beginning.rows);
    this.trace.generation = generation + 1;
    this.#begin(beginning);
    this.source.tell(beginning.script ?? []);
  }

  /** Sets the clocks so that the lab is at its start. In real time a script may have to wait until a window of the clock lies as it needs it. */
  #begin({ start = 0, isTimed = false }: Beginning): void {
    this.origin = 0;
    this.start = start;
    this.now = start;
    if (this.engine.isVirtual) return;
    const { window } = this.limit;
    const now = Math.floor(this.#clock.now());
    this.origin = isTimed ? Math.ceil((now - start) / window) * window : now;
    this.now = this.#realTime();
  }

  /** And learns what the clock is that will decide. */
  async #renewEngine(): Promise<void> {
    const { engine } = this;
    await this.asker.settled();
    if (engine.isVirtual) return engine.reset();
    const over = <T>(question: Promise<T>): Promise<T> => this.asker.watch.over(question);
    await over(engine.reset());
    await this.#clock.read(engine, over);
    if (engine === this.engine) this.#report(undefined);
  }

  #realTime(): number {
    return this.#clock.now() - this.origin;
  }

  #answered(answers: readonly Answered[], due: readonly Arrival[]): void {
    if (!this.engine.isVirtual) this.#compare(answers, due);
    for (const { at, client, cost, answers: given } of answers) {
      const { trace, origin } = this;
      const earliest = trace.length === 0 ? Number.NEGATIVE_INFINITY : trace.at[trace.slot(trace.length - 1)]!;
      trace.append({ at: Math.max(at - origin, earliest), client, cost }, given, this.rows, origin);
      this.now = Math.max(this.now, at - origin);
    }
  }

  #compare(answers: readonly Answered[], due: readonly Arrival[]): void {
    const set = this.#clock.compare(answers.at(-1)!.at);
    if (this.trace.length === 0) this.origin += set;
    for (const [index, { at }] of answers.entries()) {
      this.lateness = Math.max(this.lateness, Math.abs(at - this.origin - due[index]!.at));
    }
  }
}
