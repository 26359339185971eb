/** Sample policies of the limit in flight. */
import type { Samples } from '../../model/samples.ts';
import { concurrency } from './concurrency.ts';

export const samples: readonly Samples[] = [
  { kind: 'concurrency', policy: ({ limit, window }, name) => concurrency({ limit, ttl: window, name }) },
];
