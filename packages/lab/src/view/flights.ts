/** Which requests can be seen on their way to the gate and just behind it, at the moment that is shown. A function of time: a moment that is looked at again looks the same. */
import type { Lab } from '../lab/lab.ts';
import type { Flight } from '../model/pictures/scene.ts';

/** In real time, so that a dot is seen as long at every speed. */
const [APPROACH_MS, BEHIND_MS] = [420, 620];
/** More cannot be told apart. */
const MOST = 48;

interface Seen {
  readonly progress: number;
  /** Undefined: it has not come yet. */
  readonly arrival: number | undefined;
  readonly index: number;
  readonly of: number;
}

let last: { readonly key: string; readonly seen: readonly Seen[] } = { key: '', seen: [] };

/** The same dots for every row; only what becomes of them differs. */
export function flightsOf(lab: Lab, row: string): readonly Flight[] {
  const flights: Flight[] = [];
  for (const { progress, arrival, index, of } of seenIn(lab)) {
    const outcome = arrival === undefined ? undefined : lab.trace.outcome(row, arrival);
    // One that was for another row alone.
    if (arrival !== undefined && outcome === undefined) continue;
    flights.push({ progress, outcome, index, of });
  }
  return flights;
}

function seenIn(lab: Lab): readonly Seen[] {
  const { trace, time, rate, client } = lab;
  const key = `${time} ${trace.length} ${trace.generation} ${rate} ${client}`;
  if (key !== last.key) last = { key, seen: [...coming(lab), ...gone(lab)] };
  return last.seen;
}

function coming(lab: Lab): Seen[] {
  const reach = APPROACH_MS * lab.rate;
  if (lab.viewed !== undefined) return [];
  const times = lab.source.upcoming(lab.time + reach).filter((at) => at > lab.time);
  return grouped(times.slice(0, MOST)).map(({ at, index, of }) => ({
    progress: -(at - lab.time) / reach,
    arrival: undefined,
    index,
    of,
  }));
}

function gone({ trace, time, rate, client }: Lab): Seen[] {
  const reach = BEHIND_MS * rate;
  const arrivals: { at: number; arrival: number }[] = [];
  for (let index = trace.lastAt(time); index >= trace.first && arrivals.length < MOST; index -= 1) {
    const slot = trace.slot(index);
    if (trace.at[slot]! < time - reach) break;
    if (trace.client[slot] === client) arrivals.unshift({ at: trace.at[slot]!, arrival: index });
  }
  return grouped(arrivals.map(({ at }) => at)).map(({ at, index, of }, place) => ({
    progress: (time - at) / reach,
    arrival: arrivals[place]!.arrival,
    index,
    of,
  }));
}

/** With each its place among those of the same moment. */
function grouped(times: readonly number[]): { at: number; index: number; of: number }[] {
  const counts = new Map<number, number>();
  for (const at of times) counts.set(at, (counts.get(at) ?? 0) + 1);
  const placed = new Map<number, number>();
  return times.map((at) => {
    const index = placed.get(at) ?? 0;
    placed.set(at, index + 1);
    return { at, index, of: counts.get(at)! };
  });
}
