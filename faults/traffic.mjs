/** What the processes ask for, and what a store promised them by default: the numbers that the promises are checked against. */
import { fixedWindow } from 'sluice';

export const SOURCES = ['store', 'deny-cache', 'fallback'];

export const LIMIT = 100;
export const WINDOW_MS = 1000;

/**
 * - `bound`: far more is offered than it admits, so that every unit too many would show.
 * - `count`: denies nothing, so that what Redis has counted can be compared with what was sent. Its window starts with the first
 *   attempt, and ends long after the run.
 */
export const POLICIES = [
  fixedWindow({ name: 'bound', limit: LIMIT, window: WINDOW_MS }),
  fixedWindow({ name: 'count', limit: 1_000_000_000, window: '1d', align: 'first' }),
];
export const [BOUND, COUNT] = POLICIES.keys();

/** Which policy is asked, in turn. */
export const PATTERN = [BOUND, BOUND, COUNT];
export const PER_SECOND = 300;

/** The defaults of `redisStore(client)`: after so much silence Redis is away, and it is tried so often. */
export const SILENCE_MS = 250;
export const RETRY_AFTER_MS = 500;
/** What an attempt may take in an outage that is not known yet, on a process that gets its turn. */
export const PROMISED_MS = 300;
