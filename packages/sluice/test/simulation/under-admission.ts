/**
 * What leases cost: eight nodes with twice the traffic that the policy allows, once without leases and once with. What the second
 * admits less is what was held where it was not needed, or lost.
 */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { termsOf } from '../../src/layers/leases/terms.ts';
import { randomFrom } from '../support/random.ts';
import { Events } from './events.ts';
import { Network } from './network.ts';
import { type Given, SimulatedNode, type Witness } from './node.ts';
import { type Admission, overAdmitted } from './oracle.ts';
import type { Scenario } from './scenario.ts';
import { REAL_LAYERS } from './stacks.ts';
import { everyPromise } from './world.ts';

export const LEASE_LENGTHS_MS = [10, 20, 50, 100, 200, 500, 1000];

const NODES = 8;
const WINDOW_SECONDS = 10;
const SECONDS = 2 * WINDOW_SECONDS;
const START = 1_763_280_000_123_456;
const END = START + SECONDS * 1e6;
const WEATHER = { delay: 300, slow: 0, lost: 0, duplicated: 0 };

/** All allow so many a second, and what comes in two seconds, or a whole window's, at once. */
export function loadedPolicies(perSecond: number): Readonly<Record<string, Policy>> {
  const window = { limit: perSecond * WINDOW_SECONDS, window: WINDOW_SECONDS * 1e3 };
  const capacity = 2 * perSecond;
  return {
    'fixed window': fixedWindow(window),
    'sliding window log': slidingWindowLog(window),
    'sliding window counter': slidingWindowCounter(window),
    'token bucket': tokenBucket({ capacity, refillRate: perSecond }),
    'leaky bucket, policing': leakyBucket({ capacity, leakRate: perSecond }),
    gcra: gcra({ limit: perSecond, period: '1s', capacity }),
  };
}

export interface Loss {
  /** The part that is no longer admitted; below 0 when more is. */
  readonly lost: number;
  /** The part of the admissions that asked nobody. */
  readonly leased: number;
}

interface Load {
  /** Units, as the mean over the last window: it must not matter where in its own time a policy happens to be at the end. */
  readonly admitted: number;
  /** The part of them that asked nobody. */
  readonly leased: number;
}

/** Undefined where such leases are not made. */
export async function lossOf(
  policy: Policy,
  perSecond: number,
  ttlMs: number,
  without?: Load,
): Promise<Loss | undefined> {
  if (!termsOf(policy, ttlMs * 1e3).isLeased) return undefined;
  const bare = without ?? (await underLoad(policy, perSecond, 'nothing', 100));
  const { admitted, leased } = await underLoad(policy, perSecond, 'leases', ttlMs);
  return { lost: 1 - admitted / bare.admitted, leased };
}

export async function underLoad(policy: Policy, perSecond: number, stack: string, ttlMs: number): Promise<Load> {
  const random = randomFrom(1);
  const events = new Events(START);
  const store = memoryStore({ clock: { now: () => events.now / 1e3 } });
  const network = new Network(events, random, WEATHER, store);
  const seen = new Audience();
  for (let at = 0; at < NODES; at += 1) {
    const node = new SimulatedNode(events, random, network, scenarioOf(policy, stack, ttlMs), REAL_LAYERS, seen);
    keepAsking(events, at, (2 * perSecond) / NODES, () => node.attempt({ key: 'hot', policy, cost: 1 }));
  }
  while (events.now < END && events.step()) await seen.settle();
  const fault = overAdmitted(policy, seen.admissions);
  if (fault !== undefined) throw new Error(fault);
  return { admitted: meanOverLastWindow(seen.admissions), leased: seen.leased / seen.admissions.length };
}

/** At random times. Each node has a chance of its own, so that the traffic is the same with leases and without. */
function keepAsking(events: Events, node: number, perSecond: number, ask: () => void): void {
  const chance = randomFrom(1000 + node);
  const again = (): void => {
    ask();
    events.after((-Math.log(1 - chance.real()) * 1e6) / perSecond, again);
  };
  events.after(chance.whole(0, 1000), again);
}

class Audience implements Witness {
  readonly admissions: Given[] = [];
  leased = 0;
  #mustSettle = false;

  admitted(given: Given): void {
    this.admissions.push(given);
    if (given.source === 'lease') this.leased += 1;
  }

  repeatedDenial(): void {}

  wrong(what: string): void {
    throw new Error(what);
  }

  settled(): void {
    this.#mustSettle = true;
  }

  async settle(): Promise<void> {
    if (this.#mustSettle) await everyPromise();
    this.#mustSettle = false;
  }
}

function meanOverLastWindow(admissions: readonly Admission[]): number {
  return admissions.reduce((sum, { at }) => sum + Math.min(1, (END - at) / (WINDOW_SECONDS * 1e6)), 0);
}

function scenarioOf(policy: Policy, stack: string, ttlMs: number): Scenario {
  const unused = {
    perSecond: 0,
    timeoutMs: 50,
    troubleEveryMs: 0,
    floodEveryMs: 0,
    refunds: 0,
    penalties: 0,
    blocks: 0,
  };
  const kind = 'token-bucket';
  return {
    ...unused,
    weather: WEATHER,
    kind,
    stack,
    policy,
    nodes: NODES,
    ttlMs,
    leaseNodes: NODES,
    horizonMs: ttlMs / 2,
  };
}
