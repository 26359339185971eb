/** Asks the engine about what arrives, in order: at once where it is in this page, one request after another where it is a server. */
import type { Answered, Engine } from '../engine/engine.ts';
import { Watch } from '../engine/watch.ts';
import type { Row } from '../model/row.ts';
import type { Arrival } from '../trace/trace.ts';

export interface AskerOptions {
  /** Who asks about what, at this moment. */
  asked(): { readonly clients: readonly string[]; readonly rows: readonly Row[]; readonly generation: number };
  /** Called with answers, unless everything has begun anew since they were asked for. */
  answered(answers: readonly Answered[], arrivals: readonly Arrival[]): void;
  report(problem: string | undefined): void;
}

export class Asker {
  readonly #options: AskerOptions;
  #engine: Engine;
  #waiting: Arrival[] = [];
  /** Of the request to the server that is under way. */
  #answer: Promise<void> | undefined;
  readonly watch: Watch;

  constructor(engine: Engine, options: AskerOptions) {
    this.#engine = engine;
    this.#options = options;
    this.watch = new Watch({
      look: () => this.#engine.readClock(),
      report: (problem) => options.report(problem),
      who: () => this.#engine.name,
    });
  }

  get engine(): Engine {
    return this.#engine;
  }

  change(engine: Engine): void {
    this.#engine = engine;
    this.#waiting = [];
  }

  add(arrivals: readonly Arrival[]): void {
    this.#waiting.push(...arrivals);
  }

  forget(): void {
    this.#waiting = [];
  }

  /** Until everything that has been added is answered. */
  async ask(): Promise<void> {
    if (this.#engine.isVirtual) return this.#askHere();
    await this.#answer;
    await this.askServer();
  }

  /** Until what is under way has come back. */
  async settled(): Promise<void> {
    await this.#answer;
  }

  async #askHere(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const arrivals = this.#waiting;
    this.#waiting = [];
    const { clients, rows } = this.#options.asked();
    this.#options.answered(await this.#engine.ask(arrivals, clients, rows), arrivals);
  }

  /** One request to the server at a time; what comes meanwhile goes with the next one. */
  askServer(): Promise<void> {
    if (this.#waiting.length === 0) return this.#answer ?? Promise.resolve();
    this.#answer ??= this.#askOnce().finally(() => {
      this.#answer = undefined;
    });
    return this.#answer;
  }

  async #askOnce(): Promise<void> {
    const [engine, arrivals] = [this.#engine, this.#waiting];
    const { clients, rows, generation } = this.#options.asked();
    this.#waiting = [];
    const isSame = (): boolean => engine === this.#engine && generation === this.#options.asked().generation;
    try {
      const answers = await this.watch.over(engine.ask(arrivals, clients, rows));
      if (isSame()) this.#options.answered(answers, arrivals);
      this.#options.report(undefined);
    } catch (error) {
      if (engine === this.#engine) this.#options.report((error as Error).message);
    }
  }
}
