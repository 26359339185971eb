/** Calendar quota. No story lasts for a month, so only policies of a server have a row of it. */
import { amount } from '../../words/words.ts';
import { type Field, type Kind, type Numbers, numberIn } from '../kind.ts';
import { levelPicture } from '../pictures/level.ts';
import { levelAt } from '../state.ts';
import { LIMIT } from './fields.ts';

const DAY_MS = 86_400_000;

/** About how long a period is, for pictures and worst cases. */
const PERIODS: Readonly<Record<string, number>> = {
  hour: DAY_MS / 24,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
};

const EVERY: Field = {
  ...{ name: 'every', kind: 'choice', label: 'Every', hint: 'the period of the calendar' },
  choices: Object.keys(PERIODS).map((value) => ({ value, label: value })),
};
const TIME_ZONE: Field = {
  name: 'timeZone',
  kind: 'text',
  label: 'Time zone',
  hint: 'for example Europe/Berlin; UTC by default',
};
const STARTS_ON: Field = {
  name: 'startsOn',
  kind: 'text',
  label: 'Starts on',
  hint: 'the day a period begins, such as 15',
};

function everyOf({ every }: Numbers): string {
  return String(every);
}

/** The period whose length is closest to a window. */
function closestTo(window: number): string {
  const [every] = Object.entries(PERIODS).reduce((best, next) =>
    Math.abs(Math.log(next[1] / window)) < Math.abs(Math.log(best[1] / window)) ? next : best,
  );
  return every;
}

export const calendarQuotaKind: Kind = {
  id: 'calendar-quota',
  algorithm: 'calendar-quota',
  title: 'Calendar quota',
  short: 'Quota',
  tradeOff: 'What a contract says; all of it may come on the first day',
  steps: [
    'Time is cut into hours, days, weeks, months or years of a calendar, in the time zone of the contract.',
    'Each request adds to the count of the current period.',
    'When the count has reached the limit, requests are denied until the period ends.',
    'A day of 23 or 25 hours and a month of 28 to 31 days are as long as they are.',
  ],
  knownFrom: 'API plans that are sold by the month',
  burst: 'the whole limit at any time of the period',
  bestFor: 'What is sold: 100,000 a month from the 15th on',
  factory: 'calendarQuota',
  shapes: false,
  hasBurst: false,
  fixed: {},
  defaults: { timeZone: 'UTC' },
  fields: [LIMIT, EVERY, TIME_ZONE, STARTS_ON],
  picture: levelPicture,
  draftOf: ({ units, window }) => ({ limit: String(units), every: closestTo(window), timeZone: 'UTC', startsOn: '' }),
  summary(numbers) {
    const { timeZone, startsOn } = numbers;
    const from = startsOn === undefined ? '' : ` from ${JSON.stringify(startsOn).replaceAll('"', '')}`;
    return `${amount(numberIn(numbers, 'limit'))} per ${everyOf(numbers)}${from}, ${String(timeZone ?? 'UTC')}`;
  },
  capacity: (numbers) => numberIn(numbers, 'limit'),
  meant: (numbers, window) => ({ units: numberIn(numbers, 'limit'), window: PERIODS[everyOf(numbers)] ?? window }),
  clockWindow: () => Number.POSITIVE_INFINITY,
  used: levelAt,
  why: ({ numbers }) => `this ${everyOf(numbers)} is used up`,
};
