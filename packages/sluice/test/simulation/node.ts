/** One process: its clocks, its layers, its traffic, and what it is told. It can be paused, and it can crash and start again. */
import type { Policy, Store } from '../../src/index.ts';
import { layered } from '../../src/layers/index.ts';
import type { MaybePromise } from '../../src/model/maybe-promise.ts';
import { decidedAt, verdictOf } from '../../src/model/result.ts';
import { type Answer, attemptOf, type Change, type Check } from '../../src/model/store.ts';
import type { Random } from '../support/random.ts';
import { nodeClocks } from './clocks.ts';
import type { Events } from './events.ts';
import type { Network } from './network.ts';
import type { Admission } from './oracle.ts';
import type { Scenario } from './scenario.ts';
import { type Layers, STACKS } from './stacks.ts';

/** An admission that its caller may still give back. */
export interface Given extends Admission {
  readonly check: Check;
  readonly source: string;
  readonly now: number;
  isReturned: boolean;
}

/** What the node finds out about itself. */
export interface Witness {
  admitted(given: Given): void;
  /** A "no" from the deny cache, when nothing that could end it is on its way from this node. */
  repeatedDenial(check: Check): void;
  wrong(what: string): void;
  /** Something has happened that promises may depend on: they have to run. */
  settled(): void;
}

export class SimulatedNode {
  readonly #events: Events;
  readonly #random: Random;
  readonly #network: Network;
  readonly #scenario: Scenario;
  readonly #layers: Layers;
  readonly #witness: Witness;
  readonly #clocks;
  #store!: Store;
  #lives = 0;
  #pausedUntil = 0;
  /** By key. */
  readonly #blockedUntil = new Map<string, number>();
  /** Refunds that may still be carried out. Those without an answer always may. */
  refundsUnderWay = 0;

  constructor(events: Events, random: Random, network: Network, scenario: Scenario, layers: Layers, witness: Witness) {
    this.#events = events;
    this.#random = random;
    this.#network = network;
    this.#scenario = scenario;
    this.#layers = layers;
    this.#witness = witness;
    this.#clocks = nodeClocks(events, random);
    this.start();
  }

  /** Forgets everything. */
  start(): void {
    this.#lives += 1;
    this.#blockedUntil.clear();
    const life = this.#lives;
    const deliver = (act: () => void): void => this.#whenAwake(life, act);
    const { ttlMs, leaseNodes, horizonMs, timeoutMs, stack } = this.#scenario;
    const { monotonic, wall, pace } = this.#clocks;
    const parts = STACKS[stack]!.map((part) =>
      part({
        layers: this.#layers,
        monotonic,
        wall,
        wakeAfter: (ms, wake) => this.#events.after(ms * 1e3 * pace, () => deliver(wake)),
        ttlMs,
        leaseNodes,
        horizonMs,
        timeoutMs,
      }),
    );
    this.#store = layered(this.#network.for({ deliver }), ...parts);
  }

  pause(micros: number): void {
    this.#pausedUntil = this.#events.now + micros;
  }

  stepWall(): void {
    this.#clocks.stepWall();
  }

  /** Now, or when the node is awake again; never if it was started anew since. */
  #whenAwake(life: number, act: () => void): void {
    if (this.#lives !== life) return;
    if (this.#events.now < this.#pausedUntil) {
      this.#events.at(this.#pausedUntil, () => this.#whenAwake(life, act));
      return;
    }
    act();
    this.#witness.settled();
  }

  attempt(check: Check): void {
    const life = this.#lives;
    if (this.#events.now < this.#pausedUntil) return;
    this.#ask(
      () => this.#store.ask(attemptOf([check])),
      (told) => {
        if (this.#lives === life) this.#told(check, told);
      },
    );
  }

  /** The caller of an attempt gives it back. */
  refund({ check, cost, now, until }: Given): void {
    if (this.#events.now < this.#pausedUntil) return;
    this.refundsUnderWay += 1;
    const refund: Change = {
      key: check.key,
      policy: check.policy,
      verb: 'refund',
      cost,
      spent: { at: now, until, cost },
    };
    this.#ask(
      () => this.#change(refund),
      ({ source }) => {
        if (source === 'store') this.refundsUnderWay -= 1;
      },
    );
  }

  block(key: string, policy: Policy, duration: number): void {
    const life = this.#lives;
    if (this.#events.now < this.#pausedUntil) return;
    this.#ask(
      () => this.#change({ verb: 'block', key, policy, duration }),
      (answer) => {
        if (this.#lives === life && answer.source === 'store')
          this.#blockedUntil.set(key, decidedAt(answer) + duration);
      },
    );
  }

  penalize(key: string, policy: Policy): void {
    if (this.#events.now < this.#pausedUntil) return;
    this.#ask(
      () => this.#change({ verb: 'penalize', key, policy, cost: this.#random.whole(1, 20) }),
      () => undefined,
    );
  }

  #change(change: Change): MaybePromise<Answer> {
    return this.#store.ask({ verb: 'change', changes: [change] });
  }

  /** An attempt that fails has admitted nobody. */
  #ask(ask: () => MaybePromise<Answer>, told: (answer: Answer) => void): void {
    let answer: MaybePromise<Answer>;
    try {
      answer = ask();
    } catch {
      return;
    }
    if ('then' in answer) {
      answer.then(told, () => undefined);
      this.#witness.settled();
    } else told(answer);
  }

  #told(check: Check, answer: Answer): void {
    const { source } = answer;
    const now = decidedAt(answer);
    const { allowed, resetAfter, delay } = verdictOf(answer);
    if (source === 'deny-cache') {
      if (allowed) this.#witness.wrong('the deny cache has allowed something');
      if (this.refundsUnderWay === 0) this.#witness.repeatedDenial(check);
    }
    if (!allowed || check.cost === 0 || (source !== 'store' && source !== 'lease')) return;
    const at = source === 'lease' ? this.#events.now : now;
    if (source === 'lease' && at < (this.#blockedUntil.get(check.key) ?? 0))
      this.#witness.wrong('a lease was used on a blocked key');
    this.#witness.admitted({
      at,
      cost: check.cost,
      delay,
      until: now + resetAfter,
      now,
      check,
      source,
      isReturned: false,
    });
  }
}
