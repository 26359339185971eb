/**
 * Whether a server answers: a question that stays without an answer is reported after a while, as long as it lasts, and an answer takes the report
 * back. As long as nobody asks anything, it is asked for its clock now and then, so that silence is noticed there too.
 */

/** Two seconds at most until somebody reads it. */
const SILENT_MS = 1_500;
const LOOK_EVERY_MS = 1_000;

export interface WatchOptions {
  /** Asks for anything. */
  look(): Promise<unknown>;
  report(problem: string | undefined): void;
  /** Who is asked, for people: "Redis". */
  who(): string;
}

/** Thrown where nobody answered: the next answer, whatever it is about, mends it. */
export class Unreachable extends Error {}

export class Watch {
  readonly #options: WatchOptions;
  #isReporting = false;
  /** When each question was asked that has no answer yet. */
  readonly #pending = new Set<{ readonly since: number }>();
  #lastAnswer = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Passes an answer on. */
  async over<Answer>(question: Promise<Answer>): Promise<Answer> {
    const pending = { since: performance.now() };
    this.#pending.add(pending);
    try {
      const answer = await question;
      if (this.#isReporting) this.#report(undefined);
      return answer;
    } catch (error) {
      if (error instanceof Unreachable) this.#report(error.message);
      throw error;
    } finally {
      this.#pending.delete(pending);
      this.#lastAnswer = performance.now();
    }
  }

  /** To be called often. */
  frame(): void {
    const now = performance.now();
    const [oldest] = this.#pending;
    if (oldest === undefined) {
      if (now - this.#lastAnswer >= LOOK_EVERY_MS) {
        this.over(this.#options.look()).catch(() => {});
      }
      return;
    }
    const silent = now - oldest.since;
    if (silent < SILENT_MS) return;
    this.#report(`${this.#options.who()} has not answered for ${Math.floor(silent / 1000)} s. Still waiting.`);
  }

  #report(problem: string | undefined): void {
    this.#isReporting = problem !== undefined;
    this.#options.report(problem);
  }
}
