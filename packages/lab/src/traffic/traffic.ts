/** Traffic: endless, deterministic sequences of arrival times in milliseconds, from a moment on. Everything in it is measured in windows of the limit. */
import { randomFrom } from './random.ts';

export const TRAFFIC_KINDS = ['manual', 'steady', 'poisson', 'bursty', 'on-off', 'ramp', 'boundary'] as const;
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];

export interface Traffic {
  readonly kind: TrafficKind;
  /** Requests in a window, on average. The boundary attack sends what the limit is instead. */
  readonly rate: number;
  readonly seed: number;
}

/** The limit that traffic is measured by. Its windows are those of the engine's clock, so `origin` is what the lab's time 0 is there. */
export interface Target {
  readonly limit: number;
  readonly window: number;
  readonly origin: number;
}

export const TRAFFIC_TITLES: Readonly<Record<TrafficKind, string>> = {
  manual: 'By hand',
  steady: 'Steady',
  poisson: 'Random',
  bursty: 'Bursts',
  'on-off': 'On and off',
  ramp: 'Rising',
  boundary: 'Edge attack',
};

export const TRAFFIC_IDEAS: Readonly<Record<TrafficKind, string>> = {
  manual: 'Only what you send yourself.',
  steady: 'Evenly spaced, like a cron job.',
  poisson: 'At random and independent (Poisson), like many people.',
  bursty: 'All of half a window at the same moment.',
  'on-off': 'Twice as fast for a while, then silent as long.',
  ramp: 'From nothing to twice the rate in three windows, again and again.',
  boundary: 'A whole limit just before a window ends, and another just after.',
};

/** The arrival times of a kind of traffic that starts at `start`, in order. */
export function arrivalTimes(traffic: Traffic, start: number, target: Target): Iterator<number, never> {
  return GENERATORS[traffic.kind](traffic, start, target);
}

type Generator = (traffic: Traffic, start: number, target: Target) => Iterator<number, never>;

/** In windows. */
const [BURST_EVERY, PHASE, RAMP] = [0.5, 0.4, 3];
/** How close to the edge of a window the attack comes, on either side, in windows. */
export const BOUNDARY_WIDTH = 0.05;

const GENERATORS: Readonly<Record<TrafficKind, Generator>> = {
  *manual() {
    while (true) yield Number.POSITIVE_INFINITY;
  },
  *steady({ rate }, start, { window }) {
    for (let sent = 0; ; sent += 1) yield start + (sent * window) / rate;
  },
  *poisson({ rate, seed }, start, { window }) {
    const random = randomFrom(seed);
    for (let at = start; ; ) {
      at += (-Math.log(1 - random()) * window) / rate;
      yield at;
    }
  },
  *bursty({ rate }, start, { window }) {
    const size = Math.max(1, Math.round(rate * BURST_EVERY));
    for (let burst = 0; ; burst += 1) {
      for (let sent = 0; sent < size; sent += 1) yield start + burst * BURST_EVERY * window;
    }
  },
  *'on-off'({ rate }, start, { window }) {
    const gap = window / rate / 2;
    for (let phase = 0; ; phase += 2) {
      for (let at = 0; at < PHASE * window; at += gap) yield start + phase * PHASE * window + at;
    }
  },
  *ramp({ rate }, start, { window }) {
    // The rate grows as 2 x rate x t / RAMP, so the n-th request comes when its integral is n.
    const size = Math.max(1, Math.floor(rate * RAMP));
    for (let turn = 0; ; turn += 1) {
      for (let sent = 1; sent <= size; sent += 1) yield start + (turn + Math.sqrt(sent / size)) * RAMP * window;
    }
  },
  *boundary(_traffic, start, { limit, window, origin }) {
    const width = BOUNDARY_WIDTH * window;
    // Every other edge: the limit of a window that was attacked at its start is gone at its end.
    let edge = (Math.floor((start + origin + width) / window) + 1) * window - origin;
    for (; ; edge += 2 * window) {
      for (let sent = 0; sent < limit; sent += 1) yield edge - width + (sent * width) / limit;
      for (let sent = 0; sent < limit; sent += 1) yield edge + (sent * width) / limit;
    }
  },
};
