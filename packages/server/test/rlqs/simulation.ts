/**
 * Proxies on virtual time: they get assignments late, crash, come back, and spend whatever they have as fast as they can. Everything they let through is
 * held against the policy itself by a limiter that has seen nothing else: one request too many is one denial there.
 */
import { createLimiter, type ManualClock, manualClock, memoryStore, type Policy, type RateLimitResult } from 'sluice';
import type { Action } from '../../src/rlqs/messages.ts';
import { LATENESS_MS, type Labels, type LeasedRule, type Quota } from '../../src/rlqs/quota.ts';
import { Quotas, type Strictness } from '../../src/rlqs/quotas.ts';
import { Reporter } from '../../src/rlqs/reporter.ts';

/** Numbers from a seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    // The upper bits are the good ones.
    return (state >>> 8) / 2 ** 24;
  };
}

export interface Scenario {
  readonly policy: Policy;
  readonly ttlMs: number;
  readonly strategy?: LeasedRule['strategy'];
  readonly seed: number;
  readonly proxies: number;
  readonly seconds: number;
  /** Requests a second that come to each proxy, by its number and the time in seconds. */
  demand(proxy: number, at: number): number;
  /** The share of messages that take half as long as they may, or longer. */
  readonly late: number;
  /** How long those take at most, in parts of what they may. Default: half as long again. */
  readonly latest?: number;
  /** Crashes a second of each proxy. */
  readonly crashes: number;
  readonly strictness?: Partial<Strictness>;
}

export interface Result {
  readonly allowed: readonly number[];
  readonly asked: number;
  /** Requests that the policy would not have allowed: none. */
  readonly tooMany: number;
}

const START = 1_790_000_000_000;
const LABELS: Labels = { name: 'checkout' };
const STEP_MS = 10;
const REPORT_MS = 200;

interface Event {
  readonly at: number;
  act(): void;
}

/** Events of one moment in the order they came. */
class Agenda {
  #events: Event[] = [];

  add(at: number, act: () => void): void {
    this.#events.push({ at, act });
  }

  run(now: number): void {
    const due = this.#events.filter(({ at }) => at <= now).sort((one, other) => one.at - other.at);
    this.#events = this.#events.filter(({ at }) => at > now);
    for (const { act } of due) act();
  }
}

class World {
  readonly clock: ManualClock = manualClock(START);
  readonly agenda = new Agenda();
  readonly random: () => number;
  readonly quotas: Quotas;
  now = 0;

  constructor(readonly scenario: Scenario) {
    const { policy, ttlMs, strategy = 'token_bucket', seed, strictness } = scenario;
    this.random = randomOf(seed);
    const rule: LeasedRule = { policy, ttlMs, strategy, idleMs: 60_000 };
    const quotas: readonly Quota[] = [{ domain: undefined, match: {}, rule }];
    const store = memoryStore({ clock: this.clock });
    const limiter = createLimiter<{ readonly policies: readonly Policy[] }>({
      policies: ({ policies }) => policies,
      store,
    });
    this.quotas = new Quotas({
      quotas: () => quotas,
      limiter: () => limiter,
      events: { assigned: () => {}, returned: () => {}, unmatched: () => {} },
      now: () => this.now,
      wakeAfter: (ms, act) => this.agenda.add(this.now + ms, act),
      strictness,
    });
  }

  delay(): number {
    const { late, latest = 1.5 } = this.scenario;
    return this.random() < late ? LATENESS_MS * (0.5 + this.random() * (latest - 0.5)) : this.random() * 20;
  }
}

/** As the protocol has it: an assignment holds from when it is got, and another one takes its place with all its tokens. */
class SimulatedProxy {
  allowed = 0;
  #unreported = { allowed: 0, denied: 0, since: 0 };
  #tokens = 0;
  #perSecond = 0;
  #endsAt = 0;
  #filledAt = 0;
  #strategy = '';
  #line = 0;
  #reporter: Reporter | undefined;
  #owed = 0;
  /** What it has sent comes in order. */
  #backAt = 0;

  constructor(
    readonly world: World,
    readonly number: number,
    readonly onAllowed: () => void,
  ) {}

  connect(): void {
    const line = ++this.#line;
    const { agenda } = this.world;
    const isOn = (): boolean => line === this.#line;
    let orderedAt = 0;
    this.#reporter = new Reporter(this.world.quotas, 'd', {
      send: (actions) => {
        // What was sent before comes before.
        orderedAt = Math.max(orderedAt, this.world.now + this.world.delay());
        agenda.add(orderedAt, () => {
          if (isOn()) for (const [, action] of actions) this.#take(action);
        });
      },
      roundTrip: () =>
        new Promise((resolve) => {
          agenda.add(Math.max(orderedAt, this.world.now), () => {
            if (isOn()) agenda.add(this.#back(), () => isOn() && resolve());
          });
        }),
      giveUp: () => this.disconnect(),
    });
  }

  /** What is on its way is lost. Assignments go on until they end. */
  disconnect(): void {
    this.#line += 1;
    this.#reporter?.close();
    this.#reporter = undefined;
    this.world.agenda.add(this.world.now + 50, () => {
      if (this.#reporter === undefined) this.connect();
    });
  }

  /** With everything it knew. The server notices later. */
  crash(): void {
    const gone = this.#reporter;
    this.#line += 1;
    this.#reporter = undefined;
    this.#endsAt = 0;
    this.#unreported = { allowed: 0, denied: 0, since: this.world.now };
    this.world.agenda.add(this.world.now + this.world.random() * 5000, () => gone?.close());
    this.world.agenda.add(this.world.now + this.world.random() * 2000, () => {
      if (this.#reporter === undefined) this.connect();
    });
  }

  step(): void {
    const { scenario, now } = this.world;
    this.#owed += (scenario.demand(this.number, now / 1e3) * STEP_MS) / 1e3;
    while (this.#owed >= 1) {
      this.#owed -= 1;
      if (this.#spend()) {
        this.allowed += 1;
        this.#unreported.allowed += 1;
        this.onAllowed();
      } else this.#unreported.denied += 1;
    }
  }

  report(): void {
    const { allowed, denied, since } = this.#unreported;
    const reporter = this.#reporter;
    if (reporter === undefined) return;
    const { now, agenda } = this.world;
    this.#unreported = { allowed: 0, denied: 0, since: now };
    const line = this.#line;
    agenda.add(this.#back(), () => {
      if (line === this.#line) void reporter.report([{ labels: LABELS, allowed, denied, elapsedMs: now - since }]);
    });
  }

  #back(): number {
    this.#backAt = Math.max(this.#backAt, this.world.now + this.world.random() * 20);
    return this.#backAt;
  }

  #spend(): boolean {
    const { now } = this.world;
    if (now >= this.#endsAt) return false;
    if (this.#perSecond > 0) {
      this.#tokens = Math.min(this.#perSecond, this.#tokens + ((now - this.#filledAt) * this.#perSecond) / 1e3);
      this.#filledAt = now;
    }
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #take(action: Action): void {
    const { now } = this.world;
    if (action.kind === 'abandon') return;
    const { ttlMs, ...strategy } = action;
    const text = JSON.stringify(strategy);
    const isSame = text === this.#strategy && now < this.#endsAt;
    this.#endsAt = now + ttlMs;
    if (isSame) return;
    this.#strategy = text;
    this.#tokens = 'units' in action ? action.units : 0;
    this.#perSecond = action.kind === 'requests_per_time_unit' ? action.units : 0;
    this.#filledAt = now;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function simulate(scenario: Scenario): Promise<Result> {
  const world = new World(scenario);
  const oracleClock = manualClock(START);
  const oracle = createLimiter({ policy: scenario.policy, store: memoryStore({ clock: oracleClock }) });
  let [tooMany, asked] = [0, 0];
  const judge = (): void => {
    oracleClock.set(START + world.now);
    if (!(oracle.attempt.atOnce!('all') as RateLimitResult).allowed) tooMany += 1;
  };
  const proxies = Array.from({ length: scenario.proxies }, (_, number) => new SimulatedProxy(world, number, judge));
  for (const proxy of proxies) proxy.connect();
  for (world.now = 0; world.now < scenario.seconds * 1e3; world.now += STEP_MS) {
    world.clock.set(START + world.now);
    world.agenda.run(world.now);
    for (const proxy of proxies) {
      asked += (scenario.demand(proxy.number, world.now / 1e3) * STEP_MS) / 1e3;
      proxy.step();
      if ((world.now + proxy.number * 30) % REPORT_MS === 0) proxy.report();
      if (world.random() < (scenario.crashes * STEP_MS) / 1e3) proxy.crash();
    }
    // Answers of the store are promises, though they take no time.
    await turn();
  }
  return { allowed: proxies.map(({ allowed }) => allowed), asked, tooMany };
}
