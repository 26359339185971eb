/** What each story must end with, worked out by hand from docs/semantics.md with the first limit: 10 in 10 s, or a bucket of 10 at 1/s. */
import type { Counts } from '../src/trace/answers.ts';

const of = (allowed: number, denied: number, delayed = 0): Counts => ({ allowed, delayed, denied });
/** The polite client: whatever it asks for. */
const all = of(10, 0);

/** By row, one for each client. */
export const STORY_COUNTS: Readonly<Record<string, Readonly<Record<string, readonly Counts[]>>>> = {
  'boundary-burst': {
    // 10 in the window that ends at 10 s, 10 in the next.
    'fixed-window': [of(20, 0)],
    // The first ten leave from 19.5 s on.
    'sliding-window-log': [of(10, 10)],
    // At 10.05 s floor(10 x 0.995) = 9 are carried over: one more fits, the next only at 11 s.
    'sliding-window-counter': [of(11, 9)],
    // 0.78 tokens have come back at the last one, at 10.275 s.
    'token-bucket': [of(10, 10)],
    'leaky-bucket-policing': [of(10, 10)],
    'leaky-bucket-shaping': [of(10, 10, 9)],
    gcra: [of(10, 10)],
  },
  'idle-then-burst': {
    // 2, then 10 at 12 s, then those at 20.25, 20.75, 21.25, 21.75 and 22.25 s.
    'fixed-window': [of(17, 30)],
    // 2, then 10 at 12 s, one at 22.25 s as those have left.
    'sliding-window-log': [of(13, 34)],
    // 2, then 9 beside floor(2 x 0.8), one at 15.25 s, then one at 20.25, 21.25 and 22.25 s.
    'sliding-window-counter': [of(15, 32)],
    // 2, then 10 at 12 s, then one each second from 13.25 s to 22.25 s.
    'token-bucket': [of(22, 25)],
    'leaky-bucket-policing': [of(22, 25)],
    // The same, and only the two and the first of the burst go at once.
    'leaky-bucket-shaping': [of(22, 25, 19)],
    gcra: [of(22, 25)],
  },
  'greedy-and-polite': {
    'fixed-window': [of(20, 55), all],
    // 10 until 2.375 s, and again as they leave from 10.125 s on.
    'sliding-window-log': [of(20, 55), all],
    // 10, then one each second from 10.125 s to 18.125 s.
    'sliding-window-counter': [of(19, 56), all],
    // floor(10 + 18.5)
    'token-bucket': [of(28, 47), all],
    'leaky-bucket-policing': [of(28, 47), all],
    'leaky-bucket-shaping': [of(28, 47, 27), all],
    gcra: [of(28, 47), all],
  },
  'smooth-webhooks': {
    'fixed-window': [of(18, 0)],
    'sliding-window-log': [of(18, 0)],
    // At 12.5 s floor(6 x 0.75) = 4 are carried over, and at 23 s floor(6 x 0.7) = 4: 4 + 6 = 10.
    'sliding-window-counter': [of(18, 0)],
    'token-bucket': [of(18, 0)],
    'leaky-bucket-policing': [of(18, 0)],
    // Of each six the first goes at once.
    'leaky-bucket-shaping': [of(18, 0, 15)],
    gcra: [of(18, 0)],
  },
  // Guesses at 5, 15, ..., 1795 s; the other account at 1202, 1210 and 1218 s.
  'login-guessing': {
    // 5 in each of two windows.
    'fixed-window': [of(10, 170), of(3, 0)],
    // 5 until 45 s, and 5 as they leave: 905, 915, 925, 935, 945 s.
    'sliding-window-log': [of(10, 170), of(3, 0)],
    // 5, then one whenever floor(5 x share) falls: at 905 (4), 1085 (3), 1265 (2), 1445 (1), 1625 s (0).
    'sliding-window-counter': [of(10, 170), of(3, 0)],
    // floor(5 + 1790 / 180) = 14, as the first guess comes at 5 s.
    'token-bucket': [of(14, 166), of(3, 0)],
    'leaky-bucket-policing': [of(14, 166), of(3, 0)],
    'leaky-bucket-shaping': [of(14, 166, 13), of(3, 0, 2)],
    gcra: [of(14, 166), of(3, 0)],
  },
  // Six of 3,000 at 4, 5.5, ..., 11.5 s; sixteen of 50 at 22, 22.6, ..., 31 s.
  'model-tokens': {
    // 10 + 10 a minute: 6, then until 10 + 27/6 = 14.5 are used up.
    'requests-only': [of(14, 8)],
    // 3,000 x 3 until 7 s; 10,000 + 500 x 3.5 s are not enough for a fourth at 8.5, nor at 10; 11.5 s: 1,000 + 1,250.
    'tokens-only': [of(19, 3)],
    both: [of(14, 8)],
  },
  // Ten at 2 s, then one each second from 14.5 s to 30.5 s; each takes 7.8 s.
  'in-flight': {
    // 10, then tokens are 6.25 - k / 2 at the k-th: eleven, and every other one.
    'token-bucket': [of(24, 3)],
    'sliding-window-counter': [of(27, 0)],
    // 5 at 2 s, those at 14.5 to 18.5 s, at 22.5 to 26.5 s, and at 30.5 s.
    concurrency: [of(16, 11)],
  },
};
