/** Traffic: endless, deterministic sequences of arrival times in milliseconds, from a moment on. */
import { randomFrom } from './random.ts';

export const TRAFFIC_KINDS = ['manual', 'steady', 'poisson', 'bursty', 'on-off', 'ramp', 'boundary'] as const;
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];

export interface Traffic {
  readonly kind: TrafficKind;
  /** Requests a second, on average. The boundary attack sends what the fixed window's limit is instead. */
  readonly rate: number;
  readonly seed: number;
}

/** The windows a boundary attack aims at: on the engine's clock, so `origin` is what the lab's time 0 is there. */
export interface Target {
  readonly limit: number;
  readonly window: number;
  readonly origin: number;
}

export const TRAFFIC_TITLES: Readonly<Record<TrafficKind, string>> = {
  manual: 'By hand',
  steady: 'Steady',
  poisson: 'Poisson',
  bursty: 'Bursty',
  'on-off': 'On-off',
  ramp: 'Ramp',
  boundary: 'Boundary attack',
};

export const TRAFFIC_IDEAS: Readonly<Record<TrafficKind, string>> = {
  manual: 'Only what you send yourself.',
  steady: 'Evenly spaced, like a cron job.',
  poisson: 'At random and independent, like many people.',
  bursty: 'All of five seconds at once.',
  'on-off': 'Four seconds twice as fast, four seconds of silence.',
  ramp: 'From nothing to twice the rate in 30 seconds, again and again.',
  boundary: 'A whole limit just before a window ends, and another just after.',
};

/** The arrival times of a kind of traffic that starts at `start`, in order. */
export function arrivalTimes(traffic: Traffic, start: number, target: Target): Iterator<number, never> {
  return GENERATORS[traffic.kind](traffic, start, target);
}

type Generator = (traffic: Traffic, start: number, target: Target) => Iterator<number, never>;

const BURST_EVERY = 5_000;
const PHASE = 4_000;
const RAMP = 30_000;
/** How close to the edge of a window the attack comes, on either side. */
export const BOUNDARY_WIDTH = 500;

const GENERATORS: Readonly<Record<TrafficKind, Generator>> = {
  *manual() {
    while (true) yield Number.POSITIVE_INFINITY;
  },
  *steady({ rate }, start) {
    for (let sent = 0; ; sent += 1) yield start + (sent * 1000) / rate;
  },
  *poisson({ rate, seed }, start) {
    const random = randomFrom(seed);
    for (let at = start; ; ) {
      at += (-Math.log(1 - random()) * 1000) / rate;
      yield at;
    }
  },
  *bursty({ rate }, start) {
    const size = Math.max(1, Math.round((rate * BURST_EVERY) / 1000));
    for (let burst = 0; ; burst += 1) {
      for (let sent = 0; sent < size; sent += 1) yield start + burst * BURST_EVERY;
    }
  },
  *'on-off'({ rate }, start) {
    const gap = 500 / rate;
    for (let phase = 0; ; phase += 2) {
      for (let at = 0; at < PHASE; at += gap) yield start + phase * PHASE + at;
    }
  },
  *ramp({ rate }, start) {
    // The rate grows as 2 x rate x t / RAMP, so the n-th request comes when its integral is n.
    const size = Math.max(1, Math.floor((rate * RAMP) / 1000));
    for (let turn = 0; ; turn += 1) {
      for (let sent = 1; sent <= size; sent += 1) yield start + turn * RAMP + RAMP * Math.sqrt(sent / size);
    }
  },
  *boundary(_traffic, start, { limit, window, origin }) {
    const width = Math.min(BOUNDARY_WIDTH, window / 4);
    // Every other edge: the limit of a window that was attacked at its start is gone at its end.
    let edge = (Math.floor((start + origin + width) / window) + 1) * window - origin;
    for (; ; edge += 2 * window) {
      for (let sent = 0; sent < limit; sent += 1) yield edge - width + (sent * width) / limit;
      for (let sent = 0; sent < limit; sent += 1) yield edge + (sent * width) / limit;
    }
  },
};
