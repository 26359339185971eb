/** Runs one seed: nodes, network, store and trouble, event by event, and then the judgement. Nothing sleeps. */
import { type MemoryStore, memoryStore } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { attemptOf, type Check } from '../../src/model/store.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { Events } from './events.ts';
import { Network } from './network.ts';
import { type Given, SimulatedNode, type Witness } from './node.ts';
import { overAdmitted } from './oracle.ts';
import { randomScenario, type Scenario, type ScenarioChoice } from './scenario.ts';
import { type Layers, REAL_LAYERS } from './stacks.ts';

export interface Report {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly steps: number;
  readonly admitted: number;
  readonly leased: number;
  /** Everything that must not be. */
  readonly faults: readonly string[];
}

export interface RunOptions extends ScenarioChoice {
  readonly steps: number;
  readonly layers?: Layers;
}

const START = 1_763_280_000_123_456;
const KEYS = ['hot', 'hot', 'hot', 'other'];
/** Admissions that a caller may still give back. */
const RECENT = 50;

export async function simulate(seed: number, { steps, layers = REAL_LAYERS, ...choice }: RunOptions): Promise<Report> {
  const random = randomFrom(seed);
  const world = new World(random, randomScenario(random, choice), layers);
  await world.run(steps);
  return { seed, ...world.report() };
}

class World {
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #events = new Events(START);
  readonly #truth: MemoryStore = memoryStore({ clock: { now: () => this.#events.now / 1e3 }, maxKeys: 1000 });
  readonly #network: Network;
  readonly #nodes: SimulatedNode[];
  readonly #given = new Map<string, Given[]>();
  readonly #faults: string[] = [];
  #mustSettle = false;
  readonly #refunders = new Set<SimulatedNode>();

  constructor(random: Random, scenario: Scenario, layers: Layers) {
    this.#random = random;
    this.#scenario = scenario;
    this.#network = new Network(this.#events, random, scenario.weather, this.#truth);
    this.#nodes = Array.from({ length: scenario.nodes }, () => {
      const node: SimulatedNode = new SimulatedNode(
        this.#events,
        random,
        this.#network,
        scenario,
        layers,
        this.#witness(() => node),
      );
      return node;
    });
    for (const node of this.#nodes) this.#plan(() => this.#traffic(node), 1e6 / scenario.perSecond);
    this.#plan(() => this.#trouble(), scenario.troubleEveryMs * 1e3);
    this.#plan(() => this.#flood(), scenario.floodEveryMs * 1e3);
  }

  async run(steps: number): Promise<void> {
    while (this.#events.steps < steps && this.#faults.length === 0 && this.#events.step()) {
      if (!this.#mustSettle) continue;
      this.#mustSettle = false;
      await everyPromise();
    }
  }

  report(): Omit<Report, 'seed'> {
    const faults = [...this.#faults];
    let [admitted, leased] = [0, 0];
    for (const [key, given] of this.#given) {
      const kept = given.filter(({ isReturned }) => !isReturned);
      admitted += kept.length;
      leased += kept.filter(({ source }) => source === 'lease').length;
      const fault = overAdmitted(this.#scenario.policy, kept);
      if (fault !== undefined) faults.push(`${key}: ${fault}`);
    }
    return { scenario: this.#scenario, steps: this.#events.steps, admitted, leased, faults };
  }

  #witness(node: () => SimulatedNode): Witness {
    return {
      admitted: (given) => this.#admitted(given),
      repeatedDenial: (check) => this.#judgeDenial(node(), check),
      wrong: (what) => this.#faults.push(`${this.#events.now}: ${what}`),
      settled: () => {
        this.#mustSettle = true;
      },
    };
  }

  #admitted(given: Given): void {
    const all = this.#given.get(given.check.key);
    if (all === undefined) this.#given.set(given.check.key, [given]);
    else all.push(given);
  }

  /** The deny cache says nothing that the store would not say, unless another node has given something back, which may arrive at any time. */
  #judgeDenial(node: SimulatedNode, check: Check): void {
    if (this.#scenario.stack.includes('leases')) return;
    for (const refunder of this.#refunders) if (refunder !== node) return;
    if (this.#truth.ask(attemptOf([check], true)).allowed)
      this.#faults.push(`${this.#events.now}: the deny cache refuses what the store would allow`);
  }

  /** Again and again, at random times with this mean. */
  #plan(act: () => void, meanMicros: number): void {
    const wait = -Math.log(1 - this.#random.real()) * meanMicros;
    this.#events.after(wait, () => {
      act();
      this.#plan(act, meanMicros);
    });
  }

  #traffic(node: SimulatedNode): void {
    const { policy, refunds, penalties, blocks } = this.#scenario;
    const random = this.#random;
    const key = random.pick(KEYS);
    const attempts = random.real() < 0.03 ? random.whole(1, 30) : 1;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const cost = random.real() < 0.9 ? 1 : random.whole(0, 5);
      node.attempt({ key, policy, cost });
    }
    if (random.real() < refunds) this.#refund(node, key);
    if (random.real() < penalties) node.penalize(key, policy);
    // Only one node blocks: a second block would replace the first.
    if (random.real() < blocks && node === this.#nodes[0]) node.block(key, policy, 5_000);
  }

  /** Everyone at once wants everything that is held and everything that is left: what was counted too early or too late shows now. */
  #flood(): void {
    const { policy, nodes } = this.#scenario;
    const large = Math.max(1, Math.ceil(ruleOf(policy).limit / (4 * nodes)));
    for (const node of this.#nodes) {
      for (let attempt = 0; attempt < 40; attempt += 1) node.attempt({ key: 'hot', policy, cost: 1 });
      for (const cost of [large, large, large, large, large, 5, 5, 5]) node.attempt({ key: 'hot', policy, cost });
    }
  }

  #refund(node: SimulatedNode, key: string): void {
    const given = this.#given.get(key)?.slice(-RECENT) ?? [];
    const one = given.length === 0 ? undefined : this.#random.pick(given);
    if (one === undefined || one.isReturned) return;
    one.isReturned = true;
    this.#refunders.add(node);
    node.refund(one);
  }

  #trouble(): void {
    const random = this.#random;
    const node = random.pick(this.#nodes);
    const long = this.#scenario.ttlMs * 1e3 * random.pick([0.3, 1, 3]);
    const what = random.pick(['pause', 'pause', 'pause', 'crash', 'step', 'stop', 'restart']);
    if (what === 'pause') node.pause(long);
    if (what === 'crash') node.start();
    if (what === 'step') node.stepWall();
    if (what === 'stop') this.#network.stop(long);
    if (what === 'restart') this.#network.restart(random.whole(0, long));
  }
}

/** Everything that promises lead to, however many of them stand in a row. */
export function everyPromise(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
