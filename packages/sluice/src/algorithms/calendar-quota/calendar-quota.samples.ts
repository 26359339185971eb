/** Sample policies of the calendar quota: a period as long as the window is, in the order of their lengths. */
import type { Samples } from '../../model/samples.ts';
import { calendarQuota } from './calendar-quota.ts';

function everyOf(window: number): 'hour' | 'day' | 'week' | 'month' | 'year' {
  if (window < 1000) return 'hour';
  if (window < 10_000) return 'day';
  if (window < 60_000) return 'week';
  return window < 86_400_000 ? 'month' : 'year';
}

const STARTS = { hour: undefined, day: undefined, week: 'sunday', month: 31, year: '02-29' };

export const samples: readonly Samples[] = [
  {
    kind: 'calendar-quota',
    policy: ({ limit, window }, name) => calendarQuota({ limit, every: everyOf(window), name }),
  },
  {
    kind: 'calendar-quota in New York',
    policy({ limit, window }, name) {
      const every = everyOf(window);
      return calendarQuota({ limit, every, timeZone: 'America/New_York', startsOn: STARTS[every], name });
    },
  },
];
