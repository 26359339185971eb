/** The limits all contenders share. Where nothing else is said the window is a day, so that nothing recovers while it is measured. */
import { sluice } from '../library.mjs';

const { fixedWindow, gcra, leakyBucket, slidingWindowCounter, slidingWindowLog, tokenBucket } = await sluice();

export const DAY_SECONDS = 86_400;
export const DAY_MS = DAY_SECONDS * 1000;

/** Never reached by traffic that is spread over many keys, and slow enough to recover (8.6 s a unit) that state stays. */
export const MANY_KEYS_LIMIT = 10_000;
/** For one key that takes all the traffic. */
export const HOT_KEY_LIMIT = 10_000_000;

/** Every algorithm that keeps a state of constant size, by the name that tables use. */
export const O1_ALGORITHMS = [
  'fixed-window',
  'sliding-counter',
  'token-bucket',
  'leaky-policing',
  'leaky-shaping',
  'gcra',
];
export const ALGORITHMS = [...O1_ALGORITHMS, 'sliding-log'];

const POLICIES = {
  'fixed-window': (limit, windowMs, name) => fixedWindow({ limit, window: windowMs, name }),
  'sliding-counter': (limit, windowMs, name) => slidingWindowCounter({ limit, window: windowMs, name }),
  'sliding-log': (limit, windowMs, name) => slidingWindowLog({ limit, window: windowMs, name }),
  'token-bucket': (limit, windowMs, name) => tokenBucket({ capacity: limit, refillRate: rate(limit, windowMs), name }),
  'leaky-policing': (limit, windowMs, name) => leakyBucket({ capacity: limit, leakRate: rate(limit, windowMs), name }),
  'leaky-shaping': (limit, windowMs, name) =>
    leakyBucket({ capacity: limit, leakRate: rate(limit, windowMs), mode: 'shaping', name }),
  gcra: (limit, windowMs, name) => gcra({ limit, period: windowMs, capacity: limit, name }),
};

const rate = (limit, windowMs) => limit / (windowMs / 1000);

export function policyOf(algorithm, { limit, windowMs = DAY_MS, name }) {
  return POLICIES[algorithm](limit, windowMs, name);
}
