/** Sample policies of GCRA. */
import type { Samples } from '../../model/samples.ts';
import { gcra } from './gcra.ts';

export const samples: readonly Samples[] = [
  { kind: 'gcra', policy: ({ limit, window, capacity }, name) => gcra({ limit, period: window, capacity, name }) },
];
