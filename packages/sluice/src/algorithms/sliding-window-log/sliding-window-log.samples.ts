/** Sample policies of the sliding window log. */
import type { Samples } from '../../model/samples.ts';
import { slidingWindowLog } from './sliding-window-log.ts';

export const samples: readonly Samples[] = [
  { kind: 'sliding-window-log', policy: ({ limit, window }, name) => slidingWindowLog({ limit, window, name }) },
];
