/** What each story must end with, worked out by hand from docs/semantics.md on the cards as they are at first: 10 in 10 s, or a bucket of 10 at 1/s. */
import type { CardId } from '../src/cards/catalog.ts';
import type { Counts } from '../src/engine/trace.ts';
import type { PresetId } from '../src/presets/presets.ts';

const of = (allowed: number, denied: number, delayed = 0): Counts => ({ allowed, delayed, denied });
/** The polite client: whatever it asks for. */
const all = of(10, 0);

/** By card, one for each client. */
export const PRESET_COUNTS: Readonly<Record<PresetId, Readonly<Record<CardId, readonly Counts[]>>>> = {
  'twice-the-limit': {
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
};
