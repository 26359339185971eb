/** The seven algorithms, all set to 5 requests a second, so that what differs in their lanes is the algorithm alone. */

import { inspect } from 'node:util';
import { fixedWindow, gcra, leakyBucket, slidingWindowCounter, slidingWindowLog, tokenBucket } from 'sluice';

export const LIMIT = 5;

/** `label` stands before a lane, `heading` over a column of the table. Neighbours in this list are worth comparing. */
export const algorithms = [
  {
    label: 'fixed window',
    heading: 'fixed',
    lookFor: 'At the edge both bursts pass: 10 in 0.6 s, twice the limit.',
    ...policyOf(fixedWindow, { limit: LIMIT, window: '1s' }),
  },
  {
    label: 'sliding log',
    heading: 'log',
    lookFor: 'Never over 5 in any second: it remembers every single one.',
    ...policyOf(slidingWindowLog, { limit: LIMIT, window: '1s' }),
  },
  {
    label: 'sliding counter',
    heading: 'counter',
    lookFor: 'Close to the log, but an estimate: it keeps two counts only.',
    ...policyOf(slidingWindowCounter, { limit: LIMIT, window: '1s' }),
  },
  {
    label: 'token bucket',
    heading: 'token',
    lookFor: 'Spends the 5 it saved up, plus 1 earned every 0.2 s.',
    ...policyOf(tokenBucket, { capacity: LIMIT, refillRate: LIMIT }),
  },
  {
    label: 'leaky, policing',
    heading: 'policing',
    lookFor: "The token bucket's lane: it counts what is used, not left.",
    ...policyOf(leakyBucket, { capacity: LIMIT, leakRate: LIMIT, mode: 'policing' }),
  },
  {
    label: 'GCRA',
    heading: 'GCRA',
    lookFor: 'That lane again, and all it keeps is one moment in time.',
    ...policyOf(gcra, { limit: LIMIT, period: '1s', capacity: LIMIT }),
  },
  {
    label: 'leaky, shaping',
    heading: 'shaping',
    lookFor: 'Says "yes, but later": a queue that lets 1 go every 0.2 s.',
    ...policyOf(leakyBucket, { capacity: LIMIT, leakRate: LIMIT, mode: 'shaping' }),
  },
];

/** The policy, and how one writes it. */
function policyOf(factory, options) {
  return {
    policy: factory(options),
    code: `${factory.name}(${inspect(options, { breakLength: Number.POSITIVE_INFINITY })})`,
  };
}
