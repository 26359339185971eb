/** `sluice/durable-object`: one Durable Object of Cloudflare for each key; the rules run inside of it, and the limiter of the worker asks it. */
import { type Clock, readMicros } from '../../model/clock.ts';
import { parseDuration } from '../../model/duration.ts';
import { Kind, SluiceError, wrong } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';
import { type Answer, checksOf, type Question, type Store } from '../../model/store.ts';
import { type EngineOptions, engineStore, type WatchedCall } from '../../presets/engine-store.ts';
import { changeAcross, decideAcross } from '../../store/across-keys.ts';
import { keysOf } from '../../store/store-over.ts';
import { nameMaker } from '../names.ts';
import { readTold, write } from './messages.ts';

export { type ObjectState, RateLimitObject } from './object.ts';

/** What Sluice uses of the binding of a Durable Object, such as `env.LIMITS`. */
export interface ObjectNamespace {
  // biome-ignore lint/suspicious/noExplicitAny: an id is what `get` takes.
  idFromName(name: string): any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  get(id: any): { fetch(url: string, init?: any): Promise<any> };
}

/**
 * What `durableObjectStore` takes besides the binding. A request bounds its own wait, because a worker shares no timers between requests; and objects
 * fail one by one, so there is no circuit breaker.
 */
export type DurableObjectOptions = Omit<EngineOptions, 'silence' | 'circuitBreaker'>;

const DEFAULT_DEADLINE = '2s';
const MOST_CHARACTERS = 1024;
const URL = 'https://sluice.internal/';

/**
 * A store in Durable Objects: one for each key, exact for all requests of all places in the world. An attempt is one request to the object of its key.
 * When the object does not answer within `deadline`, the worker answers from its own memory. Call it for each request, or keep it: it knows no request.
 *
 * @example
 * export { RateLimitObject } from 'sluice/durable-object';
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: durableObjectStore(env.LIMITS) });
 */
export function durableObjectStore(namespace: ObjectNamespace, options: DurableObjectOptions = {}): Store {
  if (typeof namespace?.idFromName !== 'function' || typeof namespace.get !== 'function') {
    throw wrong(
      'SLUICE_INVALID_CLIENT',
      'durableObjectStore(namespace)',
      'the binding of a Durable Object, such as env.LIMITS',
      Kind.of(namespace),
    );
  }
  const deadlineMs = checkOptions(options);
  return engineStore(
    {
      name: 'durableObjectStore',
      client: namespace,
      traits: { name: 'The Durable Object', probe: () => undefined },
      store: (call, place) => {
        const objects = new Objects(namespace, options, deadlineMs, call);
        return { place, ask: (question) => objects.ask(question) };
      },
    },
    // The wait is bounded by each request itself.
    options.raw === true ? withoutDeadline(options) : { ...options, deadline: false, circuitBreaker: false },
  );
}

function withoutDeadline({ deadline: _deadline, ...options }: DurableObjectOptions): EngineOptions {
  return options;
}

function checkOptions(options: DurableObjectOptions): number {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('durableObjectStore', 'an object of options', Kind.of(options));
  }
  for (const name of ['silence', 'circuitBreaker']) {
    if (!(name in options)) continue;
    const expected = 'none: each request waits for itself, up to `deadline`, and objects fail one by one';
    throw invalidOption(`durableObjectStore.${name}`, expected, Kind.of((options as Record<string, unknown>)[name]));
  }
  const { deadline = DEFAULT_DEADLINE } = options;
  return deadline === false ? Number.POSITIVE_INFINITY : parseDuration(deadline, 'durableObjectStore.deadline');
}

class Objects implements Store {
  readonly #namespace: ObjectNamespace;
  readonly #nameOf: (key: string) => string;
  readonly #clock: Clock | undefined;
  readonly #deadlineMs: number;
  readonly #call: WatchedCall;

  constructor(namespace: ObjectNamespace, options: DurableObjectOptions, deadlineMs: number, call: WatchedCall) {
    this.#namespace = namespace;
    this.#nameOf = nameMaker(options, MOST_CHARACTERS);
    this.#clock = options.clock;
    this.#deadlineMs = deadlineMs;
    this.#call = call;
  }

  /** An attempt on several keys is decided object by object, and what was spent is given back when a later one denies. */
  async ask(question: Question): Promise<Answer> {
    const keys = keysOf(question);
    if (keys.length === 1) return this.#call(() => this.#askObject(keys[0]!, question));
    if (question.verb === 'change') return changeAcross(this, question.changes, keys);
    if (question.verb !== 'attempt') throw new Error('only attempts and changes can be about several keys');
    const checks = checksOf(question);
    const groups = keys.map((key) => checks.flatMap((check, index) => (check.key === key ? [index] : [])));
    return decideAcross(this, question, groups);
  }

  async #askObject(key: string, question: Question): Promise<Answer> {
    const now = this.#clock === undefined ? undefined : readMicros(this.#clock);
    const object = this.#namespace.get(this.#namespace.idFromName(this.#nameOf(key)));
    const signal =
      this.#deadlineMs === Number.POSITIVE_INFINITY ? {} : { signal: AbortSignal.timeout(this.#deadlineMs) };
    const response = await object.fetch(URL, { method: 'POST', body: write({ question, now }), ...signal });
    if (!response.ok) throw new Error(`The Durable Object answered with ${response.status}`);
    const { answer, mistake } = readTold(await response.text());
    if (mistake !== undefined) throw new SluiceError(mistake);
    if (answer === undefined) throw new Error('The Durable Object is not one of Sluice: export RateLimitObject');
    return answer;
  }
}
