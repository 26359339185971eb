/**
 * What each algorithm should say, written a second time without the library's rules: whole numbers only, and the plainest way there is. Times are
 * whole microseconds.
 */
export interface OracleRequest {
  readonly time: number;
  readonly client: string;
  readonly cost: number;
}

export interface OracleAnswer {
  readonly allowed: boolean;
  readonly delay: number;
}

/** Decides one request of one client. */
type Decide = (time: number, cost: number) => OracleAnswer;

const ALLOW: OracleAnswer = { allowed: true, delay: 0 };
const DENY: OracleAnswer = { allowed: false, delay: 0 };

/** Spent units in millionths, so that a rate of r a second drains r of them in a microsecond. */
export function bucketOracle(capacity: number, rate: number): () => Decide {
  return () => {
    let spent = 0;
    let since = 0;
    return (time, cost) => {
      spent = Math.max(0, spent - (time - since) * rate);
      since = time;
      if (spent + cost * 1e6 > capacity * 1e6) return DENY;
      spent += cost * 1e6;
      return ALLOW;
    };
  };
}

/** A queue that is worked off at a rate; `interval` is the microseconds of a unit. */
export function queueOracle(capacity: number, interval: number): () => Decide {
  return () => {
    let free = 0;
    return (time, cost) => {
      const start = Math.max(free, time);
      if (start - time + cost * interval > capacity * interval) return DENY;
      free = start + cost * interval;
      return { allowed: true, delay: start - time };
    };
  };
}

/** GCRA decides as a queue does, and nobody waits. */
export function gcraOracle(capacity: number, interval: number): () => Decide {
  const make = queueOracle(capacity, interval);
  return () => {
    const decide = make();
    return (time, cost) => (decide(time, cost).allowed ? ALLOW : DENY);
  };
}

export function fixedOracle(limit: number, window: number): () => Decide {
  return () => {
    const counts = new Map<number, number>();
    return (time, cost) => {
      const index = Math.floor(time / window);
      const count = counts.get(index) ?? 0;
      if (count + cost > limit) return DENY;
      counts.set(index, count + cost);
      return ALLOW;
    };
  };
}

export function counterOracle(limit: number, window: number): () => Decide {
  return () => {
    const counts = new Map<number, number>();
    return (time, cost) => {
      const index = Math.floor(time / window);
      const left = BigInt(window - (time - index * window));
      const faded = Number((BigInt(counts.get(index - 1) ?? 0) * left) / BigInt(window));
      const count = counts.get(index) ?? 0;
      if (count + faded + cost > limit) return DENY;
      counts.set(index, count + cost);
      return ALLOW;
    };
  };
}

export function logOracle(limit: number, window: number): () => Decide {
  return () => {
    let units: number[] = [];
    return (time, cost) => {
      units = units.filter((each) => each > time - window);
      if (units.length + cost > limit) return DENY;
      for (let unit = 0; unit < cost; unit += 1) units.push(time);
      return ALLOW;
    };
  };
}

/** A count for each period, by the name that JavaScript's own calendar has for it: `2026-10` for a month in UTC. */
export function calendarOracle(limit: number, length: number): () => Decide {
  return () => {
    const counts = new Map<string, number>();
    return (time, cost) => {
      const period = new Date(Math.floor(time / 1e3)).toISOString().slice(0, length);
      const count = counts.get(period) ?? 0;
      if (count + cost > limit) return DENY;
      counts.set(period, count + cost);
      return ALLOW;
    };
  };
}

export interface OracleCounts {
  readonly allowed: number;
  readonly denied: number;
  readonly delayed: number;
  /** By client. */
  readonly deniedOf: ReadonlyMap<string, number>;
}

/** Requests in the order they stand; they are sorted by time here, equal times as they stand. */
export function oracle(make: () => Decide, requests: readonly OracleRequest[]): OracleCounts {
  const sorted = requests.map((each, index) => ({ ...each, index }));
  sorted.sort((one, other) => one.time - other.time || one.index - other.index);
  const clients = new Map<string, Decide>();
  const deniedOf = new Map<string, number>();
  let [allowed, denied, delayed] = [0, 0, 0];
  for (const { client, time, cost } of sorted) {
    const decide = clients.get(client) ?? make();
    clients.set(client, decide);
    const answer = decide(time, cost);
    if (answer.allowed) allowed += 1;
    else {
      denied += 1;
      deniedOf.set(client, (deniedOf.get(client) ?? 0) + 1);
    }
    if (answer.delay > 0) delayed += 1;
  }
  return { allowed, denied, delayed, deniedOf };
}

/** Numbers from 0 to 1 that a seed tells. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), state | 1) + 0x6d2b79f5) | 0;
    const mixed = state ^ (state + Math.imul(state ^ (state >>> 7), state | 61));
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
