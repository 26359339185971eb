/** The seven cards: what each is called, what it does in one line, and which of its numbers can be set. */
import { checkPolicy, type Policy, SluiceError } from 'sluice';
import { amount } from '../canvas/words.ts';

export type CardId =
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter'
  | 'token-bucket'
  | 'leaky-bucket-policing'
  | 'leaky-bucket-shaping'
  | 'gcra';

export interface CardField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  /** As a person would type it. */
  readonly initial: string;
  readonly choices?: readonly string[];
}

export interface CardKind {
  readonly id: CardId;
  readonly title: string;
  readonly idea: string;
  readonly algorithm: Policy['algorithm'];
  /** What sets two cards of one algorithm apart. */
  readonly fixed: Readonly<Record<string, string>>;
  readonly fields: readonly CardField[];
}

/** The texts in a card's form, by field. */
export type Draft = Readonly<Record<string, string>>;
export type Drafts = Readonly<Record<CardId, Draft>>;
export type Policies = Readonly<Record<CardId, Policy>>;

const limit: CardField = { name: 'limit', label: 'Limit', hint: 'units in a window', initial: '10' };
const window: CardField = { name: 'window', label: 'Window', hint: 'for example 10s, 1m, 250ms', initial: '10s' };
const capacity: CardField = { name: 'capacity', label: 'Capacity', hint: 'units at once', initial: '10' };
const rateHint = 'units a second, or 600/m';

export const CARDS: readonly CardKind[] = [
  {
    id: 'fixed-window',
    title: 'Fixed window',
    idea: 'Counts on the clock, starts again at each edge.',
    algorithm: 'fixed-window',
    fixed: {},
    fields: [
      limit,
      window,
      { name: 'align', label: 'Windows start', hint: '', initial: 'epoch', choices: ['epoch', 'first'] },
    ],
  },
  {
    id: 'sliding-window-log',
    title: 'Sliding window log',
    idea: 'Remembers every admission for one window.',
    algorithm: 'sliding-window-log',
    fixed: {},
    fields: [limit, window],
  },
  {
    id: 'sliding-window-counter',
    title: 'Sliding window counter',
    idea: 'Two counts; the older one fades away.',
    algorithm: 'sliding-window-counter',
    fixed: {},
    fields: [limit, window],
  },
  {
    id: 'token-bucket',
    title: 'Token bucket',
    idea: 'Requests take tokens; tokens come back.',
    algorithm: 'token-bucket',
    fixed: {},
    fields: [capacity, { name: 'refillRate', label: 'Refill rate', hint: rateHint, initial: '1' }],
  },
  {
    id: 'leaky-bucket-policing',
    title: 'Leaky bucket, policing',
    idea: 'Requests pour in; overflow is refused.',
    algorithm: 'leaky-bucket',
    fixed: { mode: 'policing' },
    fields: [capacity, { name: 'leakRate', label: 'Leak rate', hint: rateHint, initial: '1' }],
  },
  {
    id: 'leaky-bucket-shaping',
    title: 'Leaky bucket, shaping',
    idea: 'A queue: requests wait for their slots.',
    algorithm: 'leaky-bucket',
    fixed: { mode: 'shaping' },
    fields: [capacity, { name: 'leakRate', label: 'Leak rate', hint: rateHint, initial: '1' }],
  },
  {
    id: 'gcra',
    title: 'GCRA',
    idea: 'Each request pushes one moment ahead.',
    algorithm: 'gcra',
    fixed: {},
    fields: [
      limit,
      { name: 'period', label: 'Period', hint: 'for example 10s, 1m', initial: '10s' },
      { ...capacity, hint: 'units that may come at once' },
    ],
  },
];

export const CARD_IDS: readonly CardId[] = CARDS.map(({ id }) => id);

export function cardOf(id: CardId): CardKind {
  return CARDS.find((card) => card.id === id)!;
}

export const INITIAL_DRAFTS = Object.fromEntries(
  CARDS.map(({ id, fields }) => [id, Object.fromEntries(fields.map(({ name, initial }) => [name, initial]))]),
) as Drafts;

/** The policy a form describes, checked by the library: throws its SluiceError, whose path ends with the field. */
export function policyOf(id: CardId, draft: Draft): Policy {
  const { algorithm, fixed, fields } = cardOf(id);
  const options = fields.map(({ name }) => [name, fieldValue(draft[name] ?? '')]);
  return checkPolicy({ algorithm, ...fixed, ...Object.fromEntries(options) }, algorithm);
}

/** A form knows texts only: what looks like a number is one, what is empty is missing. */
function fieldValue(text: string): string | number | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

export interface DraftProblem {
  readonly field: string;
  readonly message: string;
}

/** What the library has against a draft, or undefined when it is fine. */
export function problemOf(id: CardId, draft: Draft): DraftProblem | undefined {
  try {
    policyOf(id, draft);
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    const field = error.path.split('.').pop()!;
    const got = (draft[field] ?? '').trim() === '' ? 'nothing' : error.got;
    return { field, message: `${error.path}: expected ${error.expected}, got ${got}` };
  }
}

/** "10 per 10s", for the head of a card. */
export function summaryOf(policy: Policy): string {
  switch (policy.algorithm) {
    case 'token-bucket':
      return `${policy.capacity} at once, ${shortRate(policy.refillRate)} back`;
    case 'leaky-bucket':
      return `holds ${policy.capacity}, leaks ${shortRate(policy.leakRate)}`;
    case 'gcra':
      return `${policy.limit} per ${durationText(policy.period)}, ${policy.capacity} at once`;
    default:
      return `${policy.limit} per ${durationText(policy.window)}`;
  }
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Milliseconds as the shortest text the library reads back. */
export function durationText(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

const RATES = [
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
] as const;

/** Units a second as a person would write them, and the library reads back: those with many digits in a unit of time in which they are whole. */
export function rateText(perSecond: number): number | string {
  if (perSecond === Number(perSecond.toFixed(4))) return perSecond;
  const whole = RATES.find(([, seconds]) => Math.round(perSecond * seconds) / seconds === perSecond);
  return whole === undefined ? perSecond : `${Math.round(perSecond * whole[1])}/${whole[0]}`;
}

/** For people: "1/s", "100/m". */
function shortRate(perSecond: number): string {
  const text = rateText(perSecond);
  return typeof text === 'string' ? text : `${amount(text) === '0' ? text : amount(text)}/s`;
}

/** The most that fits at one instant. */
export function limitOf(policy: Policy): number {
  return 'capacity' in policy ? policy.capacity : policy.limit;
}

/** Over which time a policy means its limit: its window, or how long a bucket takes to recover. */
export function spanOf(policy: Policy): number {
  switch (policy.algorithm) {
    case 'token-bucket':
      return (policy.capacity / policy.refillRate) * 1000;
    case 'leaky-bucket':
      return (policy.capacity / policy.leakRate) * 1000;
    case 'gcra':
      return (policy.capacity * policy.period) / policy.limit;
    default:
      return policy.window;
  }
}
