/** GCRA, the generic cell rate algorithm. */
import { amount, durationCode, perWords } from '../../words/words.ts';
import { type Kind, numberIn } from '../kind.ts';
import { gcraPicture } from '../pictures/gcra.ts';
import { drainedEvenly } from '../state.ts';
import { CAPACITY, LIMIT, WINDOW } from './fields.ts';

export const gcraKind: Kind = {
  id: 'gcra',
  algorithm: 'gcra',
  title: 'GCRA',
  short: 'GCRA',
  tradeOff: 'A token bucket in one number',
  steps: [
    'It keeps one moment: when the next request would arrive if all kept the pace.',
    'Each request pushes that moment one interval ahead.',
    'A request is denied when the moment would lie too far in the future.',
    'As time goes on, now catches up with it.',
    'The answers are those of a token bucket, from a single number.',
  ],
  knownFrom: 'ATM networks, redis-cell',
  burst: 'the capacity after a pause, then the rate',
  bestFor: 'A token bucket for millions of clients',
  factory: 'gcra',
  shapes: false,
  hasBurst: true,
  fixed: {},
  defaults: {},
  fields: [LIMIT, { ...WINDOW, name: 'period', label: 'Period' }, CAPACITY],
  picture: gcraPicture,
  draftOf: ({ units, window, burst }) => ({
    limit: String(units),
    period: durationCode(window),
    capacity: String(burst),
  }),
  summary: (numbers) =>
    `${amount(numberIn(numbers, 'limit'))} per ${perWords(numberIn(numbers, 'period'))}, ${amount(numberIn(numbers, 'capacity'))} at once`,
  capacity: (numbers) => numberIn(numbers, 'capacity'),
  meant: (numbers) => ({ units: numberIn(numbers, 'limit'), window: numberIn(numbers, 'period') }),
  clockWindow: () => Number.POSITIVE_INFINITY,
  used: (reading) =>
    drainedEvenly(reading, (numberIn(reading.numbers, 'limit') * 1000) / numberIn(reading.numbers, 'period')),
  why: () => 'ahead of its pace',
};
