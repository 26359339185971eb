/** What the algorithms that hold so much and give it back at a rate have in common. */
import { amount } from '../../words/words.ts';
import { type Draft, type Field, type Kind, type Numbers, numberIn } from '../kind.ts';
import type { SharedLimit } from '../limit.ts';
import { perSecond, rateCode } from '../rates.ts';
import { drainedEvenly } from '../state.ts';
import { CAPACITY, RATE_HINT } from './fields.ts';

type BucketKind = Pick<Kind, 'hasBurst' | 'fields' | 'draftOf' | 'capacity' | 'meant' | 'clockWindow' | 'used'>;

/** `rate` is the name of the field that says how fast it comes back. */
export function bucketKind(rate: string, label: string): BucketKind {
  const field: Field = { name: rate, kind: 'rate', label, hint: RATE_HINT };
  return {
    hasBurst: true,
    fields: [CAPACITY, field],
    draftOf: ({ units, window, burst }: SharedLimit): Draft => ({
      capacity: String(burst),
      [rate]: String(rateCode(perSecond(units, window))),
    }),
    capacity: (numbers: Numbers): number => numberIn(numbers, 'capacity'),
    meant: (numbers: Numbers, window: number) => ({ units: (numberIn(numbers, rate) * window) / 1000, window }),
    clockWindow: () => Number.POSITIVE_INFINITY,
    used: (reading) => drainedEvenly(reading, numberIn(reading.numbers, rate)),
  };
}

export function capacityText(numbers: Numbers): string {
  return amount(numberIn(numbers, 'capacity'));
}
