/** Somebody guesses passwords, and somebody else mistypes one. */
import type { SharedLimit } from '../limit.ts';
import { BUCKETS, between, choicesOf, inOrder, type Plan, series, WINDOWS } from './story.ts';

const MINUTE = 60_000;
const LIMIT: SharedLimit = { units: 5, window: 15 * MINUTE, burst: 5 };
const LOG = 'sliding-window-log';

export const loginGuessing: Plan = {
  id: 'login-guessing',
  title: 'Login guessing',
  description: 'A brute force attack on a login that allows five guesses in 15 minutes, and a user who mistypes.',
  make() {
    const guesses = 180;
    const script = inOrder(series(5_000, guesses, 10_000), series(20 * MINUTE + 2_000, 3, 8_000, 1));
    return {
      id: 'login-guessing',
      title: 'Login guessing',
      about: `A login allows 5 tries in 15 minutes for each account. An attacker tries a password every 10 seconds for half an hour: ${guesses} guesses.`,
      limit: LIMIT,
      clients: ['attacked account', 'your account'],
      start: 0,
      end: 29.95 * MINUTE,
      script,
      beats: [
        { at: 0, pace: 0.6 },
        {
          at: 1.5 * MINUTE,
          row: LOG,
          ask: {
            text: `The first 5 guesses were allowed. How many of the ${guesses} will the sliding log allow in half an hour?`,
            choices: choicesOf(5, 10, guesses),
            answer: (facts) => String(facts.allowed(LOG)),
          },
        },
        { at: 3 * MINUTE, caption: () => 'Windows deny everything until the first guesses are 15 minutes old.' },
        {
          at: 14 * MINUTE,
          row: 'token-bucket',
          holds: true,
          caption: (facts) =>
            `A bucket gives one try back every 3 minutes: ${facts.allowed('token-bucket')} so far, ${facts.allowed(LOG)} for the log.`,
        },
        {
          at: 20 * MINUTE,
          pace: 0.4,
          caption: () =>
            'You mistype your own password twice. Your account has a key of its own, so nothing keeps you out.',
        },
        { at: 21 * MINUTE, pace: 1 },
      ],
      point: (facts) =>
        `Of ${facts.sent()} guesses windows allowed ${between(facts, WINDOWS)}, buckets ${between(facts, BUCKETS)}; you got ${facts.allowed(LOG, 1)} of ${facts.sent(1)}. For logins take the log: exact, and on record. And limit by account as well as by address, or the attacker uses many.`,
    };
  },
};
