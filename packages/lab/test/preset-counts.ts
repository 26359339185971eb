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
    // 0.91 tokens have come back at the last one, at 10.41 s.
    'token-bucket': [of(10, 10)],
    'leaky-bucket-policing': [of(10, 10)],
    'leaky-bucket-shaping': [of(10, 10, 9)],
    gcra: [of(10, 10)],
  },
  'idle-then-burst': {
    // 4, then 10 at 12 s, then those at 20, 20.5, 21, 21.5 and 22 s.
    'fixed-window': [of(19, 30)],
    // 4, then 9 at 12 s beside the one of 3 s, one at 13 s as that leaves, one at 22 s as the nine do.
    'sliding-window-log': [of(15, 34)],
    // 4, then 7 beside floor(4 x 0.8), then one at 13, 15.5, 18, 20.5 and 21.5 s.
    'sliding-window-counter': [of(16, 33)],
    // 4, then 10 at 12 s, then one each second from 13 s to 22 s.
    'token-bucket': [of(24, 25)],
    'leaky-bucket-policing': [of(24, 25)],
    // The same, and only the four and the first of the burst go at once.
    'leaky-bucket-shaping': [of(24, 25, 19)],
    gcra: [of(24, 25)],
  },
  'greedy-and-polite': {
    'fixed-window': [of(20, 80), all],
    // 10 until 1.8 s, and again as they leave from 10 s on.
    'sliding-window-log': [of(20, 80), all],
    // 10, then one each second from 10.2 s to 19.2 s.
    'sliding-window-counter': [of(20, 80), all],
    // floor(10 + 19.8)
    'token-bucket': [of(29, 71), all],
    'leaky-bucket-policing': [of(29, 71), all],
    'leaky-bucket-shaping': [of(29, 71, 28), all],
    gcra: [of(29, 71), all],
  },
  'smooth-webhooks': {
    'fixed-window': [of(18, 0)],
    'sliding-window-log': [of(18, 0)],
    // At 12 s floor(6 x 0.8) = 4 are carried over: 4 + 6 = 10.
    'sliding-window-counter': [of(18, 0)],
    'token-bucket': [of(18, 0)],
    'leaky-bucket-policing': [of(18, 0)],
    // Of each six the first goes at once.
    'leaky-bucket-shaping': [of(18, 0, 15)],
    gcra: [of(18, 0)],
  },
};
