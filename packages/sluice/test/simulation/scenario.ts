/** What is simulated, all of it chosen by a seed: the policy, the traffic, and how much goes wrong. */
import type { Policy } from '../../src/index.ts';
import { KINDS, type Kind, policyOf, type Random } from '../support/random.ts';
import type { Weather } from './network.ts';
import { STACKS } from './stacks.ts';

export interface Scenario {
  readonly stack: string;
  readonly kind: Kind;
  readonly policy: Policy;
  readonly nodes: number;
  /** Attempts a second of one node while it is busy. */
  readonly perSecond: number;
  readonly ttlMs: number;
  readonly leaseNodes: number;
  readonly horizonMs: number;
  readonly timeoutMs: number;
  readonly weather: Weather;
  /** Milliseconds between two of a kind on average. */
  readonly troubleEveryMs: number;
  readonly floodEveryMs: number;
  /** Chances for each attempt that its caller does this. */
  readonly refunds: number;
  readonly penalties: number;
  readonly blocks: number;
}

export interface ScenarioChoice {
  readonly stack?: string;
  readonly kind?: Kind;
  /** Who makes the policy, with the rule in it: an argument, so that broken rules can be put in their place. */
  readonly makes?: typeof policyOf;
}

export function randomScenario(random: Random, choice: ScenarioChoice = {}): Scenario {
  const kind = choice.kind ?? random.pick(KINDS);
  const stack = choice.stack ?? random.pick(Object.keys(STACKS));
  const nodes = random.pick([1, 2, 3, 8]);
  const perSecond = random.pick([1000, 4000, 10_000]);
  const ttlMs = random.pick([2, 5, 10]);
  const isCalm = random.real() < 0.3;
  return {
    kind,
    stack,
    nodes,
    perSecond,
    ttlMs,
    policy: busyPolicy(random, kind, nodes * perSecond, ttlMs, choice.makes ?? policyOf),
    leaseNodes: random.pick([1, nodes]),
    horizonMs: ttlMs * random.pick([0.5, 1, 3]),
    timeoutMs: random.pick([1, 5, 20]),
    weather: {
      delay: ttlMs * 1e3 * random.pick([0.01, 0.05, 0.3]),
      slow: random.pick([0, 0.02, 0.1]),
      lost: isCalm ? 0 : random.pick([0, 0.01, 0.1]),
      duplicated: random.pick([0, 0.1]),
    },
    troubleEveryMs: isCalm ? 1e6 : random.pick([5, 20, 100]),
    floodEveryMs: ttlMs * random.pick([1, 5, 1e6]),
    refunds: random.pick([0, 0, 0.05]),
    penalties: random.pick([0, 0, 0.002]),
    blocks: random.pick([0, 0, 0.003]),
  };
}

/** One that is reached by so many attempts a second, and that can be leased. */
function busyPolicy(random: Random, kind: Kind, perSecond: number, ttlMs: number, makes: typeof policyOf): Policy {
  const window = ttlMs * random.pick(kind === 'sliding-window-log' ? [50, 60] : [1.5, 3, 8]);
  const share = random.pick([0.2, 0.5, 0.9, 2]);
  const limit = Math.max(128, Math.floor((perSecond * window * share) / 1e3));
  const rate = perSecond * share;
  const capacity = Math.max(128, Math.ceil(((rate * ttlMs) / 1e3) * random.pick([10, 10, 15])));
  const numbers = { limit, window, capacity, rate };
  return makes(kind, kind === 'gcra' ? { ...numbers, limit: Math.ceil(rate), window: 1000 } : numbers);
}
