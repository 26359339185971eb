/** What a node believes about time. */
import type { Clock } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import type { Events } from './events.ts';

/** Parts in a million by which a clock runs too fast or too slow at most. */
const MOST_DRIFT = 200;

export interface NodeClocks {
  /** Wrong by up to an hour, drifting, and set to another time now and then. */
  readonly wall: Clock;
  /** Starts anywhere and never steps, but drifts. */
  readonly monotonic: Clock;
  /** By how much slower or faster the node measures: true microseconds for one of its own. */
  readonly pace: number;
  stepWall(): void;
}

export function nodeClocks(events: Events, random: Random): NodeClocks {
  const hour = 3_600_000;
  const drift = random.pick([-MOST_DRIFT, MOST_DRIFT, random.whole(-MOST_DRIFT, MOST_DRIFT)]) * 1e-6;
  const born = events.now;
  const origin = random.whole(0, 1e9);
  let offset = random.whole(-hour, hour);
  const elapsedMs = (): number => ((events.now - born) * (1 + drift)) / 1e3;
  return {
    wall: { now: () => born / 1e3 + offset + elapsedMs() },
    monotonic: { now: () => origin + elapsedMs() },
    pace: 1 / (1 + drift),
    stepWall: () => {
      offset += random.pick([-hour, -1000, -10, 10, 1000, hour]);
    },
  };
}
