/**
 * What is known of a client besides its replies: whether it is still connecting, and the errors it reports. An `error` event that nobody hears
 * ends a program, so the store hears it; it is a warning when nothing else does.
 */
import { mistaken } from '../../model/errors.ts';
import { emitWarning } from '../../model/runtime.ts';
import { textOf } from '../../store/health.ts';

/** What Sluice uses of a client that reports events. */
interface Emitter {
  on?(event: string, listener: (error: unknown) => void): unknown;
  listenerCount?(event: string): number;
}

/** The client could not connect, or was refused: there is nothing to wait for. */
const CANNOT_CONNECT = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|WRONGPASS|NOAUTH/;

export class ClientWatch {
  readonly #client: object;
  /** What it is a client of, and what took it: for the warning. */
  readonly #engine: string;
  readonly #path: string;
  readonly #listeners = new Set<(error: unknown) => void>();
  #hasFailed = false;
  #hasWarned = false;

  constructor(client: object, engine: string, path: string) {
    this.#client = client;
    this.#engine = engine;
    this.#path = path;
    (client as Emitter).on?.('error', (error) => this.#heard(error));
  }

  /** Called with errors after which there is no connection to wait for. */
  onFailure(listener: (error: unknown) => void): void {
    this.#listeners.add(listener);
  }

  /** Whether no attempt to connect has failed yet. */
  get mayConnect(): boolean {
    return !this.#hasFailed;
  }

  #heard(error: unknown): void {
    this.#warnIfAlone(error);
    const code = (error as { code?: unknown } | undefined)?.code;
    if (!CANNOT_CONNECT.test(`${String(code)} ${textOf(error)}`)) return;
    this.#hasFailed = true;
    for (const listener of this.#listeners) listener(error);
  }

  #warnIfAlone(error: unknown): void {
    if (this.#hasWarned || (this.#client as Emitter).listenerCount?.('error') !== 1) return;
    this.#hasWarned = true;
    emitWarning(
      mistaken(
        'SLUICE_CLIENT_ERROR',
        this.#path,
        `The ${this.#engine} client reported an error that nothing else listens to: ${textOf(error)} Add client.on('error', (error) => { ... }) where the client is made.`,
        error,
      ),
    );
  }
}

const watches = new WeakMap<object, ClientWatch>();

/** One for each client, however many stores it has. */
export function watchOf(client: object, engine = 'Redis', path = 'redisStore(client)'): ClientWatch {
  const known = watches.get(client);
  if (known !== undefined) return known;
  const watch = new ClientWatch(client, engine, path);
  watches.set(client, watch);
  return watch;
}
