/**
 * How a limit follows what a service can do. A controller is pure: a state and what was seen in a window of requests in, the next state out. Both keep
 * the limit between `min` and `max`, and raise it only where it is used: a limit that nobody reaches says nothing.
 */
import { checkOptionNames, invalidOption } from '../model/options.ts';

/** What was seen in a window of requests. */
export interface Sample {
  /** The most that were in flight at a time. */
  readonly inFlight: number;
  /** How long a request took on average, in milliseconds. */
  readonly rtt: number;
  /** Whether one was dropped: timed out, or refused by what is behind. */
  readonly dropped: boolean;
}

/** What a controller remembers. All numbers, so that it can be printed and compared. */
export interface ControlState {
  /** How many may be in flight: the whole part counts. */
  readonly limit: number;
  /** What requests take when nothing waits, or on a long average, in milliseconds; 0 until one was seen. */
  readonly baseRtt: number;
  /** Windows since `baseRtt` was last learned anew. */
  readonly age: number;
}

/** Decides the next limit. Made by `vegas`, `gradient2` and `aimd`, or by you. */
export interface Controller {
  readonly first: ControlState;
  next(state: ControlState, sample: Sample): ControlState;
}

/** What every controller takes. */
export interface ControllerOptions {
  /** The limit to begin with. Default: 20. */
  readonly initial?: number | undefined;
  /** Never below this. Default: 1. */
  readonly min?: number | undefined;
  /** Never above this. Default: 1000. */
  readonly max?: number | undefined;
}

interface Bounds {
  readonly first: ControlState;
  within(limit: number): number;
}

function boundsOf(options: ControllerOptions, name: string, more: readonly string[]): Bounds {
  checkOptionNames(options, ['initial', 'min', 'max', ...more], name);
  const { initial = 20, min = 1, max = 1000 } = options;
  for (const [field, value] of Object.entries({ initial, min, max })) {
    if (!(Number.isSafeInteger(value) && value >= 1)) {
      throw invalidOption(`${name}.${field}`, 'a whole number of at least 1', value);
    }
  }
  if (min > max) throw invalidOption(`${name}.min`, `at most ${max}, which is max`, min);
  const within = (limit: number): number => Math.min(max, Math.max(min, limit));
  return { first: { limit: within(initial), baseRtt: 0, age: 0 }, within };
}

function checkAbove(value: number, least: number, path: string): number {
  if (typeof value === 'number' && value > least && Number.isFinite(value)) return value;
  throw invalidOption(path, `a number above ${least}`, value);
}

/** Less than half of it is used, so it is not what holds anybody back. */
function isUnused({ limit }: ControlState, { inFlight }: Sample): boolean {
  return inFlight * 2 < limit;
}

/** What `vegas` takes. */
export interface VegasOptions extends ControllerOptions {
  /** After so many windows the time without waiting is learned anew, because what is behind may have changed. Default: 200. */
  readonly probe?: number | undefined;
}

/**
 * Keeps a few requests waiting in what is behind, after TCP Vegas: of those in flight, the share of the time that is waiting says how many wait.
 * The best choice where requests take about equally long.
 */
export function vegas(options: VegasOptions = {}): Controller {
  const { first, within } = boundsOf(options, 'vegas', ['probe']);
  const probe = checkAbove(options.probe ?? 200, 0, 'vegas.probe');
  return {
    first,
    next(state, sample) {
      const { inFlight, rtt, dropped } = sample;
      const { limit } = state;
      // With half the limit less waits, so the quickest of the next windows is close to the truth.
      if (state.age >= probe) return { limit: within(limit / 2), baseRtt: 0, age: 0 };
      const baseRtt = state.baseRtt === 0 ? rtt : Math.min(state.baseRtt, rtt);
      const few = Math.max(1, Math.log10(limit));
      const waiting = inFlight * (1 - baseRtt / rtt);
      return { limit: within(stepped()), baseRtt, age: state.age + 1 };

      function stepped(): number {
        if (dropped) return limit * 0.9 - few;
        if (waiting > 6 * few) return Math.min(limit - few, inFlight - waiting / 2);
        if (waiting > 3 * few || isUnused(state, sample)) return limit;
        return waiting <= few ? limit + 3 * few : limit + few;
      }
    },
  };
}

/** What `gradient2` takes. */
export interface Gradient2Options extends ControllerOptions {
  /** How much slower than the long average a window may be before the limit is lowered. Default: 1.5. */
  readonly tolerance?: number | undefined;
  /** Requests that may wait, added in each window. Default: 4. */
  readonly queue?: number | undefined;
}

/** Windows in the long average. */
const LONG = 600;
/** How far a new limit counts. */
const SMOOTHING = 0.2;

/**
 * Follows the ratio of a long average to what requests take now, as Netflix's Gradient2 does. It forgives requests that take unequally long, and allows
 * more of them to wait than `vegas`.
 */
export function gradient2(options: Gradient2Options = {}): Controller {
  const { first, within } = boundsOf(options, 'gradient2', ['tolerance', 'queue']);
  const tolerance = checkAbove(options.tolerance ?? 1.5, 1, 'gradient2.tolerance');
  const queue = checkAbove(options.queue ?? 4, 0, 'gradient2.queue');
  return {
    first,
    next(state, sample) {
      const { rtt, dropped } = sample;
      const age = state.age + 1;
      const average = state.baseRtt === 0 ? rtt : state.baseRtt + (rtt - state.baseRtt) / Math.min(age, LONG);
      // After a slow time the average comes down quickly.
      const baseRtt = average > 2 * rtt ? average * 0.95 : average;
      if (dropped) return { limit: within(state.limit * 0.9), baseRtt, age };
      if (isUnused(state, sample)) return { ...state, baseRtt, age };
      const gradient = Math.max(0.5, Math.min(1, (tolerance * baseRtt) / rtt));
      const limit = state.limit * (1 - SMOOTHING) + (state.limit * gradient + queue) * SMOOTHING;
      return { limit: within(limit), baseRtt, age };
    },
  };
}

/** What `aimd` takes. */
export interface AimdOptions extends ControllerOptions {
  /** A window in which requests take longer than this on average counts as one that was dropped: milliseconds. Default: only what is dropped. */
  readonly timeout?: number | undefined;
  /** By what the limit is multiplied then: above 0 and below 1. Default: 0.9. */
  readonly backoff?: number | undefined;
}

/** One more while all is well, a tenth less when a request was dropped. For services that say by an error or a timeout that they are full. */
export function aimd(options: AimdOptions = {}): Controller {
  const { first, within } = boundsOf(options, 'aimd', ['timeout', 'backoff']);
  const { timeout = Number.POSITIVE_INFINITY, backoff = 0.9 } = options;
  if (timeout !== Number.POSITIVE_INFINITY) checkAbove(timeout, 0, 'aimd.timeout');
  if (!(backoff > 0 && backoff < 1)) throw invalidOption('aimd.backoff', 'a number above 0 and below 1', backoff);
  return {
    first,
    next(state, sample) {
      const isFull = sample.dropped || sample.rtt > timeout;
      const limit = isFull ? state.limit * backoff : isUnused(state, sample) ? state.limit : state.limit + 1;
      return { limit: within(limit), baseRtt: sample.rtt, age: state.age + 1 };
    },
  };
}
