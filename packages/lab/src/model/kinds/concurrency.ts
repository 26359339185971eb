/** Limits in flight. Only a story whose requests take time has a row of it: a place is held from the moment a request is allowed until it is done. */
import { amount } from '../../words/words.ts';
import { type Field, type Kind, numberIn } from '../kind.ts';
import { slidingWindowLogPicture } from '../pictures/sliding-window-log.ts';
import { grantedWithin } from '../state.ts';

const LIMIT: Field = { name: 'limit', kind: 'count', label: 'Limit', hint: 'requests at the same time' };
const TTL: Field = {
  name: 'ttl',
  kind: 'duration',
  label: 'Longest',
  hint: 'after it a place is free again by itself',
};

/** How long each request runs is the `window` of its numbers: what was allowed within it is running now. */
export const concurrencyKind: Kind = {
  id: 'concurrency',
  algorithm: 'concurrency',
  title: 'In flight',
  short: 'In flight',
  tradeOff: 'Counts what runs, not what comes',
  steps: [
    'There are as many places as the limit says.',
    'A request that is allowed takes a place, and keeps it while it runs.',
    'When it is done, the place is free for the next one.',
    'If its process dies, the place is free after the longest time a request may take.',
  ],
  knownFrom: 'Stripe, connection pools, worker queues',
  burst: 'as many as there are free places',
  bestFor: 'Slow or heavy work: exports, renders, model calls',
  factory: 'concurrency',
  shapes: false,
  hasBurst: false,
  fixed: {},
  defaults: {},
  fields: [LIMIT, TTL],
  picture: slidingWindowLogPicture,
  draftOf: ({ units }) => ({ limit: String(units), ttl: '30s' }),
  summary: (numbers) => `${amount(numberIn(numbers, 'limit'))} at the same time`,
  capacity: (numbers) => numberIn(numbers, 'limit'),
  meant: (numbers, window) => ({ units: numberIn(numbers, 'limit'), window }),
  clockWindow: (numbers) => numberIn(numbers, 'window'),
  used: grantedWithin,
  why: ({ numbers }) => `${amount(numberIn(numbers, 'limit'))} are running`,
};
