/** Sample policies of the sliding window counter. */
import type { Samples } from '../../model/samples.ts';
import { slidingWindowCounter } from './sliding-window-counter.ts';

export const samples: readonly Samples[] = [
  {
    kind: 'sliding-window-counter',
    policy: ({ limit, window }, name) => slidingWindowCounter({ limit, window, name }),
  },
];
