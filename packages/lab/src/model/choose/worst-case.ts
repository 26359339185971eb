/** What a limit lets happen at worst: the library is asked in this page, with the traffic that each algorithm bears worst. */
import { createLimiter, manualClock, memoryStore } from 'sluice';
import type { Kind } from '../kind.ts';
import type { SharedLimit } from '../limit.ts';
import { rowOf } from '../row.ts';

export interface WorstCase {
  /** The most in any window, as a share of the limit. */
  readonly atEdge: number;
  readonly steady: number;
  /** Of a burst of twice the limit: the share of the limit that may act at that moment. */
  readonly atOnce: number;
  /** After such a burst: until the next request would be allowed, as a share of the window. */
  readonly recovers: number;
}

/** The answers are the same for any size, so a large limit is tried as a smaller one. */
const MOST_UNITS = 120;

export async function worstCase(kind: Kind, limit: SharedLimit): Promise<WorstCase> {
  const scale = Math.min(1, MOST_UNITS / limit.units);
  const units = Math.max(1, Math.round(limit.units * scale));
  const small: SharedLimit = { units, window: 60_000, burst: Math.max(1, Math.round(limit.burst * scale)) };
  const { window } = small;
  const edge = 10 * window;
  const [before, after] = [repeat(units, edge - 1), repeat(units, edge + 1)];
  const steady = Array.from({ length: 9 * units }, (_, index) => edge + (index * window) / (3 * units));
  const greedy = [
    ...repeat(units, edge - 1),
    ...Array.from({ length: 8 * units }, (_, index) => edge + ((index + 1) * window) / (4 * units)),
  ];
  const worst = async (moments: readonly number[]): Promise<number> =>
    (await mostInWindow(kind, small, moments)) / units;
  const burst = await askAll(kind, small, repeat(2 * units, edge));
  const denied = burst.find(({ allowed }) => !allowed);
  return {
    atEdge: await worst([...before, ...after]),
    steady: Math.max(await worst(steady), await worst(greedy)),
    atOnce: burst.filter(({ allowed, delay }) => allowed && delay === null).length / units,
    recovers: ((denied?.retryAfter ?? 0) * 1000) / window,
  };
}

function repeat(times: number, at: number): readonly number[] {
  return Array.from({ length: times }, () => at);
}

async function askAll(kind: Kind, limit: SharedLimit, moments: readonly number[]) {
  const clock = manualClock(0);
  const { charges } = rowOf(kind, limit);
  const limiter = createLimiter({ policy: charges[0]!.policy, store: memoryStore({ clock, maxKeys: 10 }) });
  const answers = moments.map((at) => {
    clock.set(at);
    return limiter.attempt('client');
  });
  return Promise.all(answers);
}

/** The most that acts within any one window, however it lies. */
async function mostInWindow(kind: Kind, limit: SharedLimit, moments: readonly number[]): Promise<number> {
  const answers = await askAll(kind, limit, moments);
  const acts = answers.flatMap(({ allowed, delay }, index) =>
    allowed ? [Math.round((moments[index]! + (delay ?? 0) * 1000) * 1000)] : [],
  );
  let [most, first] = [0, 0];
  for (const [index, at] of acts.entries()) {
    while (acts[first]! <= at - limit.window * 1000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
