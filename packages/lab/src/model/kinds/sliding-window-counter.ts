/** Sliding window counter. */
import { type Kind, numberIn } from '../kind.ts';
import { slidingWindowCounterPicture } from '../pictures/sliding-window-counter.ts';
import { WINDOW_KIND } from './windows.ts';

export const slidingWindowCounterKind: Kind = {
  ...WINDOW_KIND,
  id: 'sliding-window-counter',
  algorithm: 'sliding-window-counter',
  title: 'Sliding window counter',
  short: 'Sliding counter',
  tradeOff: 'Close to exact, in two numbers',
  steps: [
    'It counts requests in windows of the clock, as a fixed window does.',
    'It also remembers the count of the window before.',
    'Of that one it adds the share that a window sliding along would still cover.',
    'A request is allowed while the sum is below the limit.',
  ],
  knownFrom: 'Cloudflare’s rate limiting, most "n per minute" limits',
  burst: 'the whole limit at any time, coming back as the old window fades',
  bestFor: 'A good default for n per minute',
  factory: 'slidingWindowCounter',
  picture: slidingWindowCounterPicture,
  clockWindow: (numbers) => numberIn(numbers, 'window'),
  used: ({ window }) => window!.current + window!.carried,
  why: ({ current, previous, share }) =>
    `${current} now + ${share.toFixed(2)} of ${previous} before = ${current + Math.floor(previous * share + 1e-9)}`,
};
