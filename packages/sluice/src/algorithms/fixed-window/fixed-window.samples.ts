/** Sample policies of the fixed window. */
import type { Samples } from '../../model/samples.ts';
import { fixedWindow } from './fixed-window.ts';

export const samples: readonly Samples[] = [
  { kind: 'fixed-window epoch', policy: ({ limit, window }, name) => fixedWindow({ limit, window, name }) },
  {
    kind: 'fixed-window first',
    policy: ({ limit, window }, name) => fixedWindow({ limit, window, name, align: 'first' }),
  },
];
