/**
 * What came, written as it comes, for those who have no access log: a line of JSON for each check of an attempt, which `sluice backtest` reads. Writing
 * never makes an attempt wait, and never fails one; files are bounded in size and number, and so is what waits to be written.
 */
import { createHash } from 'node:crypto';
import { appendFile, rename, rm, stat } from 'node:fs/promises';
import type { Store } from 'sluice';
import { around, checksOf, type Question } from 'sluice/store';

/** What `recorder` takes. */
export interface RecorderOptions {
  /** Where lines go. Older ones are in `FILE.1`, `FILE.2` and so on. */
  readonly file: string;
  /** Bytes of a file before a new one begins. Default: 100 MB. */
  readonly maxBytes?: number | undefined;
  /** Older files that are kept. Default: 4. */
  readonly maxFiles?: number | undefined;
  /** Keys as they are, or only a hash of each (SHA-256, shortened). Default: plain. */
  readonly keys?: 'plain' | 'hash' | undefined;
  /** Called when a file cannot be written, once until it can be again, and with how many lines were lost. */
  readonly onProblem?: ((message: string) => void) | undefined;
}

/** Writes what goes through a store. */
export interface Recorder {
  /** A layer: put it around the store, outermost. */
  layer(inner: Store): Store;
  /** Lines that were not written: the disk was too slow, or full. */
  readonly lost: number;
  /** Writes what is left. */
  close(): Promise<void>;
}

const MAX_BYTES = 100 * 2 ** 20;
const MAX_FILES = 4;
const FLUSH_MS = 250;
/** Characters that wait to be written; beyond that lines are lost. */
const MOST_WAITING = 8 * 2 ** 20;

/**
 * Records attempts in a file that `sluice backtest` reads: time, policy, key and cost.
 *
 * @example
 * const record = recorder({ file: 'attempts.jsonl' });
 * const limiter = createLimiter({ policy, store: layered(memoryStore(), record.layer) });
 */
export function recorder(options: RecorderOptions): Recorder {
  const writer = new RotatedFile(options);
  const nameOf = options.keys === 'hash' ? hashOf : (key: string) => key;
  const layer = (inner: Store): Store =>
    around(inner, (question) => {
      record(writer, question, nameOf);
      return inner.ask(question);
    });
  return {
    layer,
    get lost() {
      return writer.lost;
    },
    close: () => writer.close(),
  };
}

function record(writer: RotatedFile, question: Question, nameOf: (key: string) => string): void {
  if (question.verb !== 'attempt' || question.dryRun === true) return;
  const time = new Date().toISOString();
  for (const { key, policy, cost } of checksOf(question)) {
    // The order of these names is how the format is recognised.
    writer.write(`${JSON.stringify({ time, policy: policy.name, key: nameOf(key), cost })}\n`);
  }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 16);
}

/** Several processes may write to one: lines are appended whole, and whoever finds the file full begins the next. */
class RotatedFile {
  lost = 0;
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  readonly #onProblem: (message: string) => void;
  #lines: string[] = [];
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor({ file, maxBytes = MAX_BYTES, maxFiles = MAX_FILES, onProblem = () => {} }: RecorderOptions) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#maxFiles = maxFiles;
    this.#onProblem = onProblem;
  }

  write(line: string): void {
    if (this.#waiting + line.length > MOST_WAITING) {
      this.lost += 1;
      return;
    }
    this.#lines.push(line);
    this.#waiting += line.length;
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#flush(), FLUSH_MS);
    this.#timer.unref();
  }

  #flush(): void {
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = [];
    this.#writing = this.#writing.then(() => this.#append(lines));
  }

  async #append(lines: readonly string[]): Promise<void> {
    const text = lines.join('');
    try {
      const size = await stat(this.#file).then(
        (found) => found.size,
        () => 0,
      );
      if (size > 0 && size + text.length > this.#maxBytes) await this.#rotate();
      await appendFile(this.#file, text);
      this.#isFailing = false;
    } catch (error) {
      this.lost += lines.length;
      if (!this.#isFailing) this.#onProblem(`recording to ${this.#file} fails: ${(error as Error).message}`);
      this.#isFailing = true;
    }
    this.#waiting -= text.length;
  }

  /** The oldest goes, every other one moves on by one. */
  async #rotate(): Promise<void> {
    const older = (index: number): string => (index === 0 ? this.#file : `${this.#file}.${index}`);
    await rm(older(this.#maxFiles), { force: true });
    for (let index = this.#maxFiles - 1; index >= 0; index -= 1) {
      await rename(older(index), older(index + 1)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    if (this.#maxFiles === 0) await rm(this.#file, { force: true });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#flush();
    await this.#writing;
  }
}
