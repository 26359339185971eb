/** The system's clock, which can be made to stand still while several attempts are made: a burst comes at one instant, however slow the machine is. */
import { type Clock, systemClock } from 'sluice';

export interface InstantClock extends Clock {
  /** Whatever `work` asks before it first waits is asked at one instant. A memory store answers all of that. */
  atOnce<T>(work: () => T): T;
}

export function instantClock(): InstantClock {
  let instant: number | undefined;
  return {
    now: () => instant ?? systemClock.now(),
    atOnce(work) {
      instant = systemClock.now();
      try {
        return work();
      } finally {
        instant = undefined;
      }
    },
  };
}
