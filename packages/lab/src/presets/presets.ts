/**
 * Stories in one click: a set-up, a script of requests, and two sentences on what to look for. On virtual time every run is the same. In real time a
 * request is decided a little after it is due, so no request of a script is due where a little makes a difference. All of them are meant for the cards
 * as they are at first: 10 in 10 s, or a bucket of 10 at 1 a second.
 */
import type { Arrival } from '../engine/trace.ts';

export type PresetId = 'twice-the-limit' | 'idle-then-burst' | 'greedy-and-polite' | 'smooth-webhooks';

export interface Preset {
  readonly id: PresetId;
  readonly title: string;
  /** Two sentences: what to look for. */
  readonly story: string;
  readonly clients: readonly string[];
  /** Lab time at which it opens and closes, in milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly script: readonly Arrival[];
}

/** How late a request may be decided, in milliseconds, and every count of every story is still the same. */
export const BEARABLE_DELAY = 100;

/** `count` arrivals from `from` on, each `gap` later than the one before. */
function series(from: number, count: number, gap: number, client = 0): Arrival[] {
  return Array.from({ length: count }, (_, index) => ({ at: from + index * gap, client, cost: 1 }));
}

function inOrder(...parts: readonly Arrival[][]): Arrival[] {
  return parts.flat().sort((one, other) => one.at - other.at);
}

export const ONE_CLIENT: readonly string[] = ['client'];

export const PRESETS: readonly Preset[] = [
  {
    id: 'twice-the-limit',
    title: 'Twice the limit through a fixed window',
    story:
      'Ten requests come just before the window ends and ten just after: the fixed window lets all 20 through within a second. Every other algorithm remembers the first ten and lets next to nothing more through.',
    clients: ONE_CLIENT,
    start: 8_000,
    end: 22_000,
    script: inOrder(series(9_500, 10, 25), series(10_050, 10, 25)),
  },
  {
    id: 'idle-then-burst',
    title: 'Idle then burst',
    story:
      'After a quiet time 25 requests come at once, then two a second: see who takes the burst and who pays for it. Windows go silent until they reset, buckets and GCRA let one through each second, and the queue sends the burst out one by one.',
    clients: ONE_CLIENT,
    start: 0,
    end: 26_000,
    script: inOrder(series(250, 2, 1_250), series(12_000, 25, 0), series(12_750, 20, 500)),
  },
  {
    id: 'greedy-and-polite',
    title: 'A greedy client and a polite one',
    story:
      'One client sends four requests a second, the other one every two seconds, each under a key of its own. The greedy one is held to the limit by every algorithm; the polite one never hears no.',
    clients: ['greedy', 'polite'],
    start: 0,
    end: 20_000,
    script: inOrder(series(125, 75, 250), series(1_000, 10, 2_000, 1)),
  },
  {
    id: 'smooth-webhooks',
    title: 'Smooth a webhook sender',
    story:
      'Six webhooks fall due at once, three times: every algorithm lets all 18 go, most of them in one breath. Only shaping gives each a slot of its own, a second apart, and the receiver sees a steady trickle.',
    clients: ONE_CLIENT,
    start: 0,
    end: 31_000,
    script: inOrder(series(2_000, 6, 0), series(12_500, 6, 0), series(23_000, 6, 0)),
  },
];

export function presetOf(id: string | null): Preset | undefined {
  return PRESETS.find((preset) => preset.id === id);
}
