/**
 * What a log of whole seconds cannot tell. Two requests may really be up to a second nearer to each other, or further apart, than their times
 * say. So each policy is also run a second tighter and a second looser: what really would have happened lies between the two. What a second
 * is worth differs by algorithm; of one that is not listed here nothing is said.
 */
import { checkPolicy, type Policy } from 'sluice';

type Values = Readonly<Record<string, number | string>>;

/** Fields that allow less (`sign` -1) or more (1) by as much as a second is worth; none when whole seconds tell everything. */
type Shift = (values: Values, sign: -1 | 1) => Readonly<Record<string, number>>;

const MS = 1e3;
const number = (values: Values, name: string): number => Number(values[name]);

/** A bucket gains a second's worth of units in a second. */
const byRate =
  (rate: string): Shift =>
  (values, sign) => ({ capacity: Math.max(1, number(values, 'capacity') + sign * Math.ceil(number(values, rate))) });

/** A unit leaves the window a second earlier or later. */
const byWindow: Shift = (values, sign) => ({ window: Math.max(1, number(values, 'window') - sign * MS) });

const SHIFTS: Readonly<Record<string, Shift>> = {
  'token-bucket': byRate('refillRate'),
  'leaky-bucket': byRate('leakRate'),
  gcra: (values, sign) => {
    const perSecond = (number(values, 'limit') / number(values, 'period')) * MS;
    return { capacity: Math.max(1, number(values, 'capacity') + sign * Math.ceil(perSecond)) };
  },
  'sliding-window-log': byWindow,
  /** The periods of all calendars begin at whole seconds. */
  'calendar-quota': () => ({}),
  /** Windows begin at whole seconds. */
  'fixed-window': (values, sign) =>
    values.align === 'first' || number(values, 'window') % MS !== 0 ? byWindow(values, sign) : {},
  /** In a second, what is left of the previous window fades by a second's share of it. */
  'sliding-window-counter': (values, sign) => {
    const seconds = number(values, 'window') / MS;
    const limit = number(values, 'limit');
    return { limit: Math.max(1, limit + sign * Math.ceil(limit / seconds)) };
  },
};

/** The policies between which the truth lies. */
export interface Bounds {
  readonly tighter: Policy;
  readonly looser: Policy;
}

/** Undefined: nothing is known of this algorithm. 'exact': whole seconds tell everything. */
export function boundsOf(policy: Policy): Bounds | 'exact' | undefined {
  const shift = Object.hasOwn(SHIFTS, policy.algorithm) ? SHIFTS[policy.algorithm] : undefined;
  if (shift === undefined) return undefined;
  const values = policy as unknown as Values;
  const [less, more] = [shift(values, -1), shift(values, 1)];
  if (Object.keys(more).length === 0) return 'exact';
  return { tighter: checkPolicy({ ...values, ...less }), looser: checkPolicy({ ...values, ...more }) };
}
