/** Sliding window log. */
import { amount, durationWords } from '../../words/words.ts';
import { type Kind, numberIn } from '../kind.ts';
import { slidingWindowLogPicture } from '../pictures/sliding-window-log.ts';
import { grantedWithin } from '../state.ts';
import { WINDOW_KIND } from './windows.ts';

export const slidingWindowLogKind: Kind = {
  ...WINDOW_KIND,
  id: 'sliding-window-log',
  algorithm: 'sliding-window-log',
  title: 'Sliding window log',
  short: 'Sliding log',
  tradeOff: 'Exact, but remembers everything',
  steps: [
    'Every allowed request is written down with its time.',
    'Entries older than one window are forgotten.',
    'A request is allowed while fewer entries than the limit are left.',
    'So no window, wherever it begins, ever holds more than the limit.',
  ],
  knownFrom: 'login protection, billing, audits',
  burst: 'the whole limit at any time, then nothing until it leaves the window',
  bestFor: 'Billing, audits, logins: exact and on record',
  factory: 'slidingWindowLog',
  picture: slidingWindowLogPicture,
  clockWindow: (numbers) => numberIn(numbers, 'window'),
  used: grantedWithin,
  why: ({ numbers }) =>
    `${amount(numberIn(numbers, 'limit'))} in the last ${durationWords(numberIn(numbers, 'window'))}`,
};
