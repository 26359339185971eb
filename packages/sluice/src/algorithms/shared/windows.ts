/** What the algorithms with windows on the clock have in common. */
import type { RuleParts } from '../../model/rule.ts';

/** The limit in each window that is touched. */
export function windowBound(limit: number, size: number): RuleParts['bound'] {
  return (from, to) => limit * (Math.floor(to / size) - Math.floor(from / size) + 1);
}

/** When the window of a moment opened. The one that was asked for last is remembered: a remainder costs more than all the rest of a decision. */
export function windowOn(size: number): (moment: number) => number {
  let opened = Number.NaN;
  return (moment) => {
    if (!(moment >= opened && moment < opened + size)) opened = moment - (moment % size);
    return opened;
  };
}
