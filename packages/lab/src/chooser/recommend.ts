/** From answers to a policy, and why. */
import type { Policy } from 'sluice';
import { type CardId, type Draft, policyOf } from '../cards/catalog.ts';
import { bytesText, measuredOf, redisBytesOfLog } from './measured.ts';
import type { Answers } from './questions.ts';

export const SPANS = { s: 'second', m: 'minute', h: 'hour', d: 'day' } as const;
export type Span = keyof typeof SPANS;

export interface Amount {
  readonly units: number;
  readonly per: Span;
}

/** Policing gives the token bucket's answers in other words, so that one stands for both. */
export type Recommended = Exclude<CardId, 'leaky-bucket-policing'>;

export interface Recommendation {
  readonly card: Recommended;
  /** As the lab's form has it. */
  readonly draft: Draft;
  readonly policy: Policy;
  readonly reasons: readonly string[];
  readonly isShared: boolean;
}

export function recommend(answers: Answers, amount: Amount): Recommendation {
  const card = cardFor(answers);
  const draft = draftFor(card, amount);
  const isShared = answers.servers === 'many';
  return {
    card,
    draft,
    policy: policyOf(card, draft),
    reasons: [...REASONS[card](amount, answers), isShared ? SHARED : ALONE],
    isShared,
  };
}

function cardFor({ behind, bursts, exactness, memory }: Answers): Recommended {
  if (behind === 'fragile') return 'leaky-bucket-shaping';
  if (bursts === 'welcome') return memory === 'many' ? 'gcra' : 'token-bucket';
  if (exactness === 'exact') return 'sliding-window-log';
  return exactness === 'calendar' ? 'fixed-window' : 'sliding-window-counter';
}

function draftFor(card: Recommended, { units, per }: Amount): Draft {
  const [count, span, rate] = [String(units), `1${per}`, `${units}/${per}`];
  switch (card) {
    case 'token-bucket':
      return { capacity: count, refillRate: rate };
    case 'leaky-bucket-shaping':
      return { capacity: count, leakRate: rate };
    case 'gcra':
      return { limit: count, period: span, capacity: count };
    default:
      return { limit: count, window: span };
  }
}

const ALONE =
  'One process decides by itself, in memory: an answer takes about a microsecond, and there is nothing to run.';
const SHARED =
  'Many servers ask one Redis. Each attempt is one script call, decided there, on its clock: nothing can slip in between.';

const times = (units: number): string => units.toLocaleString('en');

const REASONS: Readonly<Record<Recommended, (amount: Amount, answers: Answers) => readonly string[]>> = {
  'leaky-bucket-shaping': ({ units, per }) => [
    `What lies behind sees one request every ${interval(units, per)}, whoever sends and however many they are.`,
    `Up to ${times(units)} wait in the queue, and each is told for how long. Only what finds it full is refused.`,
  ],
  'token-bucket': ({ units, per }) => [
    `Whoever paused may send ${times(units)} at once; after that, ${times(units)} a ${SPANS[per]}.`,
    `So a first ${SPANS[per]} can see almost twice that: the full bucket, and what flows in meanwhile.`,
    'Counted from empty instead of from full it is the leaky bucket in policing mode. The answers are the same.',
  ],
  gcra: ({ units, per }) => [
    `It behaves as a token bucket: ${times(units)} at once after a pause, then ${times(units)} a ${SPANS[per]}.`,
    `All it keeps is one moment in time: ${bytesText(measuredOf('gcra').redisBytes)} a client in Redis, name and expiry included.`,
  ],
  'sliding-window-log': ({ units, per }, { memory }) => [
    `Never more than ${times(units)} in any ${SPANS[per]}, wherever it begins. No other algorithm here keeps that promise.`,
    `It remembers each admission, which is the price: about ${bytesText(redisBytesOfLog(units))} a client in Redis at this limit.`,
    ...(memory === 'many'
      ? [
          `If that is too much for millions, the sliding window counter takes ${bytesText(measuredOf('sliding-window-counter').redisBytes)}, and is close.`,
        ]
      : []),
  ],
  'sliding-window-counter': ({ units, per }) => [
    `Two counts stand for the whole window, so ${times(units)} a ${SPANS[per]} take no more room than ten.`,
    `Everything at an edge of the window lets ${measuredOf('sliding-window-counter').boundary} through where ${measuredOf('sliding-window-counter').limit} are allowed; a fixed window would let through ${measuredOf('fixed-window').boundary}.`,
    'It assumes that the last window was even. Whoever sends a burst and then never stops asking can get up to twice the limit through, spread over a window.',
  ],
  'fixed-window': ({ units, per }) => [
    `${times(units)} in each ${SPANS[per]} of the clock: easy to explain, easy to check against an invoice.`,
    `Around an edge twice as many can pass, half before and half after. If that hurts, take the sliding window counter.`,
  ],
};

/** 0.6 s, 36 s, 12 ms: how far apart requests leave. */
function interval(units: number, per: Span): string {
  const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }[per] / units;
  return seconds < 0.1 ? `${Number((seconds * 1e3).toPrecision(2))} ms` : `${Number(seconds.toPrecision(3))} s`;
}
