/** What the algorithms that count in windows have in common. */
import { amount, durationCode, perWords } from '../../words/words.ts';
import { type Draft, type Kind, type Numbers, numberIn } from '../kind.ts';
import type { SharedLimit } from '../limit.ts';
import { LIMIT, WINDOW } from './fields.ts';

type WindowKind = Pick<
  Kind,
  'hasBurst' | 'shapes' | 'fields' | 'fixed' | 'defaults' | 'draftOf' | 'summary' | 'capacity' | 'meant'
>;

export const WINDOW_KIND: WindowKind = {
  hasBurst: false,
  shapes: false,
  fixed: {},
  defaults: {},
  fields: [LIMIT, WINDOW],
  draftOf: ({ units, window }: SharedLimit): Draft => ({ limit: String(units), window: durationCode(window) }),
  summary: (numbers: Numbers): string =>
    `${amount(numberIn(numbers, 'limit'))} per ${perWords(numberIn(numbers, 'window'))}`,
  capacity: (numbers: Numbers): number => numberIn(numbers, 'limit'),
  meant: (numbers: Numbers) => ({ units: numberIn(numbers, 'limit'), window: numberIn(numbers, 'window') }),
};
