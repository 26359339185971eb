/** From answers to an algorithm with numbers, and why. */
import { count, perWords, seconds } from '../../words/words.ts';
import type { Kind } from '../kind.ts';
import { kindOf } from '../kinds/index.ts';
import type { SharedLimit } from '../limit.ts';
import { type Row, rowOf } from '../row.ts';
import { bytesText, measuredOf, redisBytesOfLog } from './measured.ts';
import type { Answers } from './questions.ts';

export interface Recommendation {
  readonly row: Row;
  readonly reasons: readonly string[];
  /** The second best, to compare with. */
  readonly runnerUp: Row;
  readonly whyNot: string;
  /** Whether several servers share it. */
  readonly isShared: boolean;
}

/** A fifth: room for a page that loads or a job that starts, and not a whole day at one moment. */
export function usualBurst(units: number): number {
  return Math.max(1, Math.round(units / 5));
}

export function recommend(answers: Answers, limit: SharedLimit): Recommendation {
  const id = idFor(answers);
  const { reasons, runnerUp, whyNot } = WORDS[id]!;
  const isShared = answers.servers === 'many';
  return {
    row: rowOf(kind(id), limit),
    reasons: [...reasons(limit, answers), isShared ? SHARED : ALONE],
    runnerUp: rowOf(kind(runnerUp), limit),
    whyNot,
    isShared,
  };
}

function kind(id: string): Kind {
  return kindOf(id)!;
}

/** Policing gives the token bucket's answers in other words, so that one stands for both. */
function idFor({ protects, bursts, exactness, clients }: Answers): string {
  if (protects === 'backend') return 'leaky-bucket-shaping';
  if (bursts === 'yes') return clients === 'many' ? 'gcra' : 'token-bucket';
  if (exactness === 'exact') return 'sliding-window-log';
  return exactness === 'calendar' ? 'fixed-window' : 'sliding-window-counter';
}

const ALONE =
  'One process decides in its own memory: an answer takes about a microsecond, and there is nothing else to run.';
const SHARED =
  'All servers ask one Redis. Each attempt is one script call that is decided there, so the limit holds for all of them together.';

interface Words {
  reasons(limit: SharedLimit, answers: Answers): readonly string[];
  readonly runnerUp: string;
  readonly whyNot: string;
}

const WORDS: Readonly<Record<string, Words>> = {
  'leaky-bucket-shaping': {
    reasons: ({ units, window, burst }) => [
      `The backend gets one request every ${interval(units, window)}, however many clients send: all callers share one key.`,
      `Up to ${count(burst)} requests wait in the queue, each for its slot. When it is full, the next one gets a 429.`,
    ],
    runnerUp: 'token-bucket',
    whyNot: 'A token bucket keeps the same average, but passes a whole burst on to the backend at the same time.',
  },
  'token-bucket': {
    reasons: ({ units, window, burst }) => [
      `After a pause a client may send ${count(burst)} at the same moment; in the long run ${count(units)} per ${perWords(window)}.`,
      `So the most in any ${perWords(window)} is ${count(units + burst)}: a full bucket, and what comes back meanwhile.`,
    ],
    runnerUp: 'sliding-window-counter',
    whyNot:
      'A sliding window counter holds the number per window more strictly, but after a burst it denies for longer.',
  },
  gcra: {
    reasons: ({ units, window, burst }) => [
      `It gives the answers of a token bucket: ${count(burst)} at the same moment after a pause, then ${count(units)} per ${perWords(window)}.`,
      `All it keeps is one moment in time: ${bytesText(measuredOf('gcra')!.redisBytes)} for each client in Redis, name and expiry included.`,
    ],
    runnerUp: 'token-bucket',
    whyNot: `A token bucket says the same with two numbers: ${bytesText(measuredOf('token-bucket')!.redisBytes)} for each client in Redis.`,
  },
  'sliding-window-log': {
    reasons: ({ units, window }, { clients }) => [
      `Never more than ${count(units)} in any ${perWords(window)}, wherever it begins. Of the others only shaping keeps that promise, and it makes requests wait.`,
      `It remembers each allowed request. The price is memory: about ${bytesText(redisBytesOfLog(units))} for each client in Redis at this limit.`,
      ...(clients === 'many'
        ? [
            `For millions of clients the sliding window counter is close, and takes ${bytesText(measuredOf('sliding-window-counter')!.redisBytes)}.`,
          ]
        : []),
    ],
    runnerUp: 'sliding-window-counter',
    whyNot: 'A sliding window counter needs two numbers instead of a list, and can be off when traffic is uneven.',
  },
  'sliding-window-counter': {
    reasons: ({ units, window }) => [
      `Two numbers hold ${count(units)} per ${perWords(window)} for each client, however large the limit is.`,
      `When everything comes at an edge of a window it allows ${measuredOf('sliding-window-counter')!.boundary} of ${measuredOf('sliding-window-counter')!.limit}; a fixed window would allow ${measuredOf('fixed-window')!.boundary}.`,
      'It assumes that the last window was even. A client that sends a burst and then never stops asking can get more, up to twice the limit spread over a window.',
    ],
    runnerUp: 'sliding-window-log',
    whyNot: 'A sliding window log is exact in any window, and remembers every request for that.',
  },
  'fixed-window': {
    reasons: ({ units, window }) => [
      `${count(units)} in each ${perWords(window)} of the clock: easy to explain, easy to check against an invoice.`,
      'Around an edge twice as many can pass, half before and half after.',
      'If you sell it by the month, in the customer’s time zone or from the day of the contract, take calendarQuota: the same count, in periods of the calendar.',
    ],
    runnerUp: 'sliding-window-counter',
    whyNot: 'If twice the limit around an edge hurts, take the sliding window counter.',
  },
};

/** 0.6 s, 36 s, 12 ms: how far apart requests leave. */
function interval(units: number, window: number): string {
  const ms = window / units;
  return ms < 100 ? `${Number(ms.toPrecision(2))} ms` : seconds(ms, ms < 1000 ? 2 : 1).replace(/\.?0+ s$/, ' s');
}
