/** Questions and answers between two processes, over whatever carries messages. An error keeps what callers are told of it. */
import { HttpError } from '../service/http-error.ts';

/** Of one of our own: the rest of what goes over the wire is not for us. */
interface Message {
  /** The number of a question, or of the question that is answered. */
  readonly asks?: number;
  readonly answers?: number;
  readonly value?: unknown;
  readonly error?: SentError;
}

interface SentError {
  readonly message: string;
  readonly status?: number;
  readonly word?: string;
  readonly path?: string | undefined;
  readonly headers?: HttpError['headers'];
}

/** Nobody answered in time, or nobody is there any more. */
export class NoAnswer extends Error {}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Channel<Question> {
  readonly #send: (message: Message) => void;
  readonly #answer: (question: Question) => unknown;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #isClosed = false;

  /** `answer` may throw. */
  constructor(send: (message: object) => void, answer: (question: Question) => unknown) {
    this.#send = send;
    this.#answer = answer;
  }

  /** Rejects with `NoAnswer` when nothing has come within this time. Default: it is waited for as long as the other side is there. */
  ask(question: unknown, timeoutMs?: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new NoAnswer('the other process has ended'));
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      const late = (): void =>
        this.#settle(id, (waiting) => waiting.reject(new NoAnswer(`no answer in ${timeoutMs} ms`)));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      const done =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          then(value);
        };
      this.#waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.#send({ asks: id, value: question });
    });
  }

  /** What has come over the wire. */
  receive(message: unknown): void {
    const { asks, answers, value, error } = message as Message;
    if (asks !== undefined) void this.#reply(asks, value as Question);
    if (answers === undefined) return;
    this.#settle(answers, ({ resolve, reject }) => (error === undefined ? resolve(value) : reject(errorOf(error))));
  }

  /** Nothing comes any more. */
  close(error: Error): void {
    this.#isClosed = true;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(error));
  }

  #settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) how(waiting);
  }

  async #reply(id: number, question: Question): Promise<void> {
    try {
      this.#send({ answers: id, value: await this.#answer(question) });
    } catch (error) {
      this.#send({ answers: id, error: sentError(error) });
    }
  }
}

function sentError(error: unknown): SentError {
  if (!(error instanceof HttpError)) return { message: error instanceof Error ? error.message : String(error) };
  const { message, status, word, path, headers } = error;
  return { message, status, word, path, headers };
}

function errorOf({ message, status, word, path, headers }: SentError): Error {
  if (status === undefined || word === undefined) return new Error(message);
  return new HttpError(status, word, message, {
    ...(path === undefined ? {} : { path }),
    ...(headers === undefined ? {} : { headers }),
  });
}
