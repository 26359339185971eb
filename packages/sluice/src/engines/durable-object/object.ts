/**
 * The object of a key: it keeps the states of the key, and the rules run inside it. An object does one thing at a time, so nothing has to be swapped; its
 * answers leave only when what was written is safe, which the runtime sees to. When nothing is left that means anything it deletes what it stored.
 */
import { readMicros, systemClock } from '../../model/clock.ts';
import { MICROS_PER_MS } from '../../model/duration.ts';
import type { SluiceError } from '../../model/errors.ts';
import type { Algorithm } from '../../model/rule.ts';
import { isStoreFault } from '../../model/store.ts';
import { answer } from '../../store/states.ts';
import { KeyStates } from '../../store/values.ts';
import { QuestionReader, type Told, write } from './messages.ts';

/** What Sluice uses of the state that the runtime gives to an object. */
export interface ObjectState {
  readonly storage: {
    get(name: string): Promise<unknown>;
    // biome-ignore lint/suspicious/noExplicitAny: values of any kind.
    put(name: string, value: any): Promise<void>;
    delete(name: string): Promise<unknown>;
    deleteAll(): Promise<void>;
    getAlarm(): Promise<number | null>;
    setAlarm(time: number): Promise<void>;
  };
}

const STATES = 'states';

/**
 * The class of the objects that hold limits. Export it from your worker and name it in its configuration. For algorithms of your own, extend it and list
 * them in `algorithms`.
 *
 * @example
 * export { RateLimitObject } from 'sluice/durable-object';
 */
export class RateLimitObject {
  /** Algorithms of your own, made by `defineAlgorithm`, besides those of Sluice. */
  readonly algorithms: readonly Algorithm[] = [];
  readonly #storage: ObjectState['storage'];
  #reader: QuestionReader | undefined;
  #states: KeyStates | undefined;
  #hasAlarm = false;

  /** Called by the runtime. */
  constructor(state: ObjectState, _env?: unknown) {
    this.#storage = state.storage;
  }

  /** Answers the store of the worker. */
  async fetch(request: Request): Promise<Response> {
    return new Response(write(await this.#tell(await request.text())));
  }

  async #tell(text: string): Promise<Told> {
    const states = await this.#load();
    try {
      this.#reader ??= new QuestionReader({ algorithms: this.algorithms });
      const { question, now = readMicros(systemClock) } = this.#reader.read(text);
      const given = answer(states, question, now);
      if (states.isChanged) await this.#save(states, now);
      return { answer: given };
    } catch (error) {
      if (isStoreFault(error)) throw error;
      const { code, path, sentence } = error as SluiceError;
      return { mistake: { code, path, message: sentence } };
    }
  }

  async #load(): Promise<KeyStates> {
    if (this.#states !== undefined) return this.#states;
    const stored = (await this.#storage.get(STATES)) as Uint8Array | undefined;
    this.#hasAlarm = (await this.#storage.getAlarm()) !== null;
    // Another request may have been faster while this one waited.
    this.#states ??= new KeyStates(stored);
    return this.#states;
  }

  /** Writes that are not awaited are made together, and no answer leaves before them. */
  async #save(states: KeyStates, now: number): Promise<void> {
    const next = states.value(now);
    this.#states = new KeyStates(next?.bytes);
    const writes: Promise<unknown>[] = [
      next === undefined ? this.#storage.delete(STATES) : this.#storage.put(STATES, next.bytes),
    ];
    if (!this.#hasAlarm) {
      this.#hasAlarm = true;
      writes.push(this.#storage.setAlarm(Math.ceil((now + (next?.lasts ?? 0)) / MICROS_PER_MS)));
    }
    await Promise.all(writes);
  }

  /** Called by the runtime when the time has come: deletes what means nothing any more. */
  async alarm(): Promise<void> {
    const states = await this.#load();
    const now = readMicros(systemClock);
    const next = states.value(now);
    if (next === undefined) {
      await this.#storage.deleteAll();
      this.#states = undefined;
      this.#hasAlarm = false;
    } else {
      await this.#storage.setAlarm(Math.ceil((now + next.lasts) / MICROS_PER_MS));
    }
  }
}
