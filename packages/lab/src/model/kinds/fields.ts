/** The fields that several algorithms have. */
import type { Field } from '../kind.ts';

export const LIMIT: Field = { name: 'limit', kind: 'count', label: 'Limit', hint: 'units in a window' };
export const WINDOW: Field = {
  name: 'window',
  kind: 'duration',
  label: 'Window',
  hint: 'for example 10 s, 1 min, 250 ms',
};
export const CAPACITY: Field = { name: 'capacity', kind: 'count', label: 'Capacity', hint: 'units at the same moment' };
export const RATE_HINT = 'units a second, or 600/min';
