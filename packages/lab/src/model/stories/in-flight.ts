/**
 * A limit on how many requests run at the same time, not on how many come. Every request takes the same time here, so what was allowed within that time is
 * what runs now: the lanes and the worst window show how many that were.
 */
import { concurrency, type Policy, slidingWindowCounter, tokenBucket } from 'sluice';
import { perWords, seconds } from '../../words/words.ts';
import { type Kind, numbersOf } from '../kind.ts';
import { concurrencyKind } from '../kinds/concurrency.ts';
import { slidingWindowCounterKind } from '../kinds/sliding-window-counter.ts';
import { tokenBucketKind } from '../kinds/token-bucket.ts';
import type { SharedLimit } from '../limit.ts';
import type { Row } from '../row.ts';
import { choicesOf, inOrder, ONE_CLIENT, type Plan, series } from './story.ts';

const TAKES = 7_800;
const [PLACES, BURST, PER_MINUTE] = [5, 10, 30];
const LIMIT: SharedLimit = { units: PLACES, window: TAKES, burst: PLACES };
const IN_FLIGHT = 'concurrency';
const BUCKET = 'token-bucket';

function rowOf(kind: Kind, policy: Policy, note: string): Row {
  const own = numbersOf(policy);
  const numbers = kind === concurrencyKind ? { ...own, window: TAKES } : own;
  return {
    ...{ id: kind.id, kind, title: kind.title, short: kind.short, note, summary: note, numbers },
    draft: {},
    deviates: false,
    policies: 1,
    charges: [{ policy, of: 'units' }],
    capacity: kind.capacity(numbers),
    clockWindow: kind.clockWindow(numbers),
    window: TAKES,
    meant: { units: PLACES, window: TAKES },
    parts: [],
    holdsMs: TAKES,
  };
}

const ROWS: readonly Row[] = [
  rowOf(
    tokenBucketKind,
    tokenBucket({ capacity: BURST, refillRate: `${PER_MINUTE}/m` }),
    `${BURST}, and ${PER_MINUTE} per ${perWords(60_000)}`,
  ),
  rowOf(
    slidingWindowCounterKind,
    slidingWindowCounter({ limit: PER_MINUTE, window: '1m' }),
    `${PER_MINUTE} per ${perWords(60_000)}`,
  ),
  rowOf(concurrencyKind, concurrency({ limit: PLACES, ttl: '10s' }), `${PLACES} at the same time`),
];

export const inFlight: Plan = {
  id: 'in-flight',
  title: 'In flight',
  description:
    'Reports that take eight seconds each, on a server that can make five at a time. A rate limit does not see it.',
  make() {
    const script = inOrder(series(2_000, BURST, 0), series(14_500, 17, 1_000));
    return {
      id: 'in-flight',
      title: 'In flight',
      about: `A report takes ${seconds(TAKES, 1)}, and the server can make ${PLACES} at the same time. First ${BURST} are asked for at the same moment, then one each second.`,
      limit: LIMIT,
      clients: ONE_CLIENT,
      rows: ROWS,
      start: 0,
      end: 31_500,
      script,
      beats: [
        { at: 0, pace: 0.6 },
        {
          at: 1_500,
          row: BUCKET,
          ask: {
            text: `${BURST} reports are about to be asked for. How many run at the same time under a rate limit of ${PER_MINUTE} a minute?`,
            choices: choicesOf(PLACES, BURST),
            answer: (facts) => String(facts.worst(BUCKET)),
          },
          pace: 0.4,
        },
        {
          at: 2_600,
          row: BUCKET,
          holds: true,
          tells: true,
          caption: (facts) =>
            `All ${facts.worst(BUCKET)}: they are within the rate, and twice as many as the server can make. A rate limit counts what comes, not what runs.`,
        },
        {
          at: 2_700,
          row: IN_FLIGHT,
          holds: true,
          pace: 1,
          caption: (facts) => `With ${PLACES} places ${facts.allowed(IN_FLIGHT)} run, and the others are denied.`,
        },
        {
          at: 22_600,
          row: IN_FLIGHT,
          holds: true,
          caption: () => 'A report is done, and its place is taken by the next request. Nobody has to guess a rate.',
        },
      ],
      point: (facts) =>
        `Under the token bucket ${facts.allowed(BUCKET)} reports were made, up to ${facts.worst(BUCKET)} of them at the same time. With ${PLACES} places it was ${facts.allowed(IN_FLIGHT)}, and never more than ${facts.worst(IN_FLIGHT)} at a time, however long they take. Use both: a rate for how many come, places for how many run.`,
    };
  },
};
