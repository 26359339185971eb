/**
 * One policy against all requests: the library's own rule decides, on the log's own clock. States are numbers in one array, by the number of
 * the client; what a denial costs and whom it hits is counted beside them.
 */
import type { Policy } from 'sluice';
import { type Numbers, type Rule, ruleOf, Step } from 'sluice/store';
import { wider } from '../logs/key-table.ts';
import { FormatError } from '../logs/line-format.ts';
import { MOST_ROUTES } from '../logs/request-reader.ts';
import type { RowBuffer } from '../logs/rows.ts';
import { Flow } from './tally.ts';

/** A request that is denied. */
export interface DeniedRow {
  readonly row: number;
  /** Microseconds; Infinity when it can never be allowed. */
  readonly retryAfter: number;
}

/** What decides rows, in order. */
export interface Scenario {
  readonly name: string;
  readonly counts: ScenarioCounts;
  readonly flow: Flow;
  /** By client: how many requests were denied. */
  readonly denied: Uint32Array;
  /** By route. */
  readonly deniedRoutes: Uint32Array;
  decide(rows: RowBuffer, from: number, to: number, clients: number): void;
}

/** What a scenario did, in numbers. */
export interface ScenarioCounts {
  allowed: number;
  denied: number;
  delayed: number;
  allowedUnits: number;
  deniedUnits: number;
  /** Microseconds, of all that were delayed. */
  delays: number;
  longestDelay: number;
  /** Microseconds; Infinity is not counted. */
  longestRetry: number;
  /** Requests that cost more than could ever be allowed. */
  never: number;
}

export function noCounts(): ScenarioCounts {
  return {
    allowed: 0,
    denied: 0,
    delayed: 0,
    allowedUnits: 0,
    deniedUnits: 0,
    delays: 0,
    longestDelay: 0,
    longestRetry: 0,
    never: 0,
  };
}

/** Called with every request that is denied. */
export type OnDenied = (rows: RowBuffer, row: number, retryAfter: number, policy: string) => void;

/** The rule of a policy. Throws a `FormatError` when a log does not say what it decides by. */
export function triableRule(policy: Policy): Rule {
  const rule = ruleOf(policy);
  if (rule.permits === undefined) return rule;
  throw new FormatError(
    `${policy.algorithm} cannot be tried on a log: it limits requests that run at the same time, and a log does not say when each was released`,
  );
}

/** A policy that decides rows by the library's rule. */
export class PolicyScenario implements Scenario {
  readonly name: string;
  readonly policy: Policy;
  readonly counts = noCounts();
  readonly flow = new Flow();
  denied = new Uint32Array(1024);
  readonly deniedRoutes = new Uint32Array(MOST_ROUTES + 1);
  readonly #rule: Rule;
  readonly #width: number;
  readonly #isBound: boolean;
  readonly #onDenied: OnDenied | undefined;
  readonly #step = new Step();
  readonly #state = new Float64Array(4);
  /** Whether a client has a state. */
  #known = new Uint8Array(1024);
  #states: Float64Array;
  /** Of a rule whose states have no fixed width. */
  readonly #lists: (number[] | undefined)[] = [];

  /** `isBound`: nothing is wanted of it but who is denied, and how often. */
  constructor(policy: Policy, name: string, onDenied?: OnDenied, isBound = false) {
    this.#isBound = isBound;
    this.policy = policy;
    this.name = name;
    this.#rule = triableRule(policy);
    this.#width = this.#rule.width;
    this.#onDenied = onDenied;
    this.#states = new Float64Array(1024 * this.#width);
  }

  /** Whether a client was ever denied. */
  isDenied(client: number): boolean {
    return this.denied[client]! > 0;
  }

  decide(rows: RowBuffer, from: number, to: number, clients: number): void {
    this.#reserve(clients);
    if (this.#isBound) {
      this.#count(rows, from, to);
      return;
    }
    const { times, clients: ids, costs } = rows;
    const { counts, flow } = this;
    const step = this.#step;
    for (let row = from; row < to; row += 1) {
      const client = ids[row]!;
      const now = times[row]!;
      const cost = costs === undefined ? 1 : costs[row]!;
      this.#transition(client, now, cost, step);
      if (!step.allowed) {
        this.#deny(rows, row, client, cost, step.retryAfter);
        continue;
      }
      counts.allowed += 1;
      counts.allowedUnits += cost;
      if (step.delay > 0) this.#delay(now, step.delay, cost);
      else flow.add(now, cost);
    }
  }

  /** Only who is denied, and how often. */
  #count(rows: RowBuffer, from: number, to: number): void {
    const { times, clients: ids, costs } = rows;
    const { counts, denied } = this;
    const step = this.#step;
    for (let row = from; row < to; row += 1) {
      const client = ids[row]!;
      this.#transition(client, times[row]!, costs === undefined ? 1 : costs[row]!, step);
      if (step.allowed) continue;
      counts.denied += 1;
      denied[client]! += 1;
    }
  }

  #transition(client: number, now: number, cost: number, step: Step): void {
    const rule = this.#rule;
    const width = this.#width;
    if (width === 0) {
      const list = this.#lists[client];
      rule.transition(list, now, cost, step);
      if (step.writes) this.#lists[client] = rule.write!(list, step);
      return;
    }
    const states = this.#states;
    const base = client * width;
    let state: Numbers | undefined;
    if (this.#known[client] === 1) {
      const held = this.#state;
      held[0] = states[base]!;
      if (width > 1) held[1] = states[base + 1]!;
      if (width > 2) held[2] = states[base + 2]!;
      if (width > 3) held[3] = states[base + 3]!;
      state = held;
    }
    rule.transition(state, now, cost, step);
    if (!step.writes) return;
    const { next } = step;
    this.#known[client] = 1;
    states[base] = next[0]!;
    if (width > 1) states[base + 1] = next[1]!;
    if (width > 2) states[base + 2] = next[2]!;
    if (width > 3) states[base + 3] = next[3]!;
  }

  #deny(rows: RowBuffer, row: number, client: number, cost: number, retryAfter: number): void {
    const { counts } = this;
    counts.denied += 1;
    counts.deniedUnits += cost;
    this.denied[client]! += 1;
    if (retryAfter === Number.POSITIVE_INFINITY) counts.never += 1;
    else if (retryAfter > counts.longestRetry) counts.longestRetry = retryAfter;
    const route = rows.routes === undefined ? -1 : rows.routes[row]!;
    if (route >= 0) this.deniedRoutes[route]! += 1;
    this.#onDenied?.(rows, row, retryAfter, this.name);
  }

  #delay(now: number, delay: number, cost: number): void {
    const { counts } = this;
    counts.delayed += 1;
    counts.delays += delay;
    if (delay > counts.longestDelay) counts.longestDelay = delay;
    this.flow.addLater(now, delay, cost);
  }

  #reserve(clients: number): void {
    if (clients <= this.#known.length) return;
    const length = Math.max(clients, this.#known.length * 1.5);
    this.#known = wider(this.#known, length);
    this.denied = wider(this.denied, length);
    this.#states = wider(this.#states, Math.ceil(length) * this.#width);
  }
}
