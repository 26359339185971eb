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
import { leaseRule } from '../../src/layers/leases-rules.ts';
import { randomFrom } from '../support/random.ts';
import { Events } from './events.ts';
import { Network } from './network.ts';
import { SimulatedNode } from './node.ts';
import { type Admission, overAdmitted } from './oracle.ts';
import type { Scenario } from './scenario.ts';
import { REAL_LAYERS } from './stacks.ts';

export const LEASE_LENGTHS_MS = [10, 20, 50, 100, 200, 500, 1000];

const NODES = 8;
const WINDOW_SECONDS = 10;
const SECONDS = 2 * WINDOW_SECONDS;
const START = 1_763_280_000_123_456;

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
  if (!leaseRule(policy, ttlMs * 1e3).isLeased) return undefined;
  const bare = without ?? (await underLoad(policy, perSecond, 'nothing', 100));
  const { admitted, leased } = await underLoad(policy, perSecond, 'leases', ttlMs);
  return { lost: 1 - admitted / bare.admitted, leased };
}

export async function underLoad(policy: Policy, perSecond: number, stack: string, ttlMs: number): Promise<Load> {
  const random = randomFrom(1);
  const events = new Events(START);
  const store = memoryStore({ clock: { now: () => events.now / 1e3 } });
  const weather = { delay: 300, slow: 0, lost: 0, duplicated: 0 };
  const network = new Network(events, random, weather, store);
  const admissions: Admission[] = [];
  let leased = 0;
  let mustSettle = false;
  for (let node = 0; node < NODES; node += 1) {
    const simulated = new SimulatedNode(events, random, network, scenarioOf(policy, stack, ttlMs), REAL_LAYERS, {
      admitted: (given) => {
        admissions.push(given);
        if (given.source === 'lease') leased += 1;
      },
      repeatedDenial: () => undefined,
      wrong: (what) => {
        throw new Error(what);
      },
      settled: () => {
        mustSettle = true;
      },
    });
    const again = (): void => {
      simulated.attempt({ key: 'hot', policy, cost: 1 });
      events.after((-Math.log(1 - random.real()) * NODES * 1e6) / (2 * perSecond), again);
    };
    events.after(random.whole(0, 1000), again);
  }
  while (events.now < START + SECONDS * 1e6 && events.step()) {
    if (mustSettle) await new Promise((resolve) => setImmediate(resolve));
    mustSettle = false;
  }
  const fault = overAdmitted(policy, admissions);
  if (fault !== undefined) throw new Error(fault);
  return { admitted: meanOverLastWindow(admissions), leased: leased / admissions.length };
}

function meanOverLastWindow(admissions: readonly Admission[]): number {
  const end = START + SECONDS * 1e6;
  return admissions.reduce((sum, { at }) => sum + Math.min(1, (end - at) / (WINDOW_SECONDS * 1e6)), 0);
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
  const weather = { delay: 0, slow: 0, lost: 0, duplicated: 0 };
  const kind = 'token-bucket';
  return { ...unused, weather, kind, stack, policy, nodes: NODES, ttlMs, leaseNodes: NODES, horizonMs: ttlMs / 2 };
}
