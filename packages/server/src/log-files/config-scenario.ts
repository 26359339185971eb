/**
 * A whole config against a log: for each line the rules of the config say what is spent, as they do for `sluice serve`, and all of it is one
 * attempt. What a log does not say (most headers, claims of tokens) a rule does not see.
 */
import type { RequestView } from 'sluice/http';
import { Step } from 'sluice/store';
import type { Reported } from '../backtest/report.ts';
import { noCounts, type OnDenied, type Scenario } from '../backtest/scenario.ts';
import { Flow } from '../backtest/tally.ts';
import { applyRules, type Spend, spendsOfAll } from '../config/apply-rules.ts';
import type { Config } from '../config/config.ts';
import { UnreadablePath } from '../config/request-paths.ts';
import { wider } from '../logs/key-table.ts';
import type { LineFormat } from '../logs/line-format.ts';
import { addressName } from '../logs/log-keys.ts';
import { hasField, MOST_ROUTES, type SpendReader } from '../logs/request-reader.ts';
import type { RowBuffer } from '../logs/rows.ts';
import { SpendLists } from './spend-lists.ts';

/** Lines with a path or a key that the service would answer with 400. */
const UNREADABLE = -2;
const UNLIMITED = -1;

/** A config as a scenario. Make a new one for each run. */
export class ConfigScenario {
  readonly reader: SpendReader;
  readonly #config: Config;
  readonly #spends: SpendLists;
  readonly #policies: ConfigPolicy[] = [];

  constructor(config: Config) {
    this.#config = config;
    this.#spends = new SpendLists(config);
    this.reader = {
      fields: (format) => fieldsFor(config, format),
      numberOf: (textOf, time) => this.#numberOf(textOf, time),
    };
    for (const [name] of config.policies) this.#policies.push(new ConfigPolicy(name));
  }

  /** The config as a whole, and each policy of it. */
  reported(onDenied?: OnDenied): Reported[] {
    const whole = new WholeConfig(this.#spends, this.#policies, onDenied);
    return [{ scenario: whole }, ...this.#policies.map((scenario) => ({ scenario }))];
  }

  #numberOf(textOf: (field: string) => string | undefined, time: number): number {
    const view = viewOf(textOf);
    let spends: readonly Spend[];
    try {
      const outcomes = applyRules(this.#config, view, time / 1e3);
      if (outcomes.some(({ outcome }) => outcome === 'no-key')) return UNREADABLE;
      spends = spendsOfAll(outcomes);
    } catch (error) {
      if (error instanceof UnreadablePath) return UNREADABLE;
      throw error;
    }
    return spends.length === 0 ? UNLIMITED : this.#spends.numberOf(spends);
  }
}

/** Fields of a log that a request is made of, as far as it has them: those that every request has, and the headers that the rules ask for. */
function fieldsFor({ rules }: Config, format: LineFormat): string[] {
  const headers = rules.flatMap(({ matcher, limit }) => [
    ...matcher.headers.map(({ name }) => name),
    ...[...(limit?.keyText ?? '').matchAll(/header:([\w-]+)/g)].map(([, name]) => name!),
    ...(limit?.planText === undefined ? [] : [...limit.planText.matchAll(/header:([\w-]+)/g)].map(([, name]) => name!)),
  ]);
  const names = ['ip', 'method', 'path', 'host', ...['user-agent', ...headers].map(headerField)];
  return [...new Set(names)].filter((name) => hasField(format, name)).slice(0, MOST_FIELDS);
}

/** As many as a line is searched for. */
const MOST_FIELDS = 20;

/** As nginx calls it. */
function headerField(name: string): string {
  return `http_${name.toLowerCase().replaceAll('-', '_')}`;
}

function viewOf(textOf: (field: string) => string | undefined): RequestView {
  const ip = textOf('ip');
  const header = (name: string): string | undefined =>
    name.toLowerCase() === 'host' ? textOf('host') : textOf(headerField(name));
  return { method: textOf('method') ?? 'GET', path: textOf('path') ?? '/', ip: ip && bareAddress(ip), header };
}

/** The subnet that stands for a client is the library's business: an address goes to it as it is. */
function bareAddress(ip: string): string {
  return ip.includes(':') ? addressName(ip).replace(/\/\d+$/, '') : ip;
}

/** What is counted of a config or of one of its policies. */
class ConfigPolicy implements Scenario {
  readonly name: string;
  readonly counts = noCounts();
  readonly flow = new Flow();
  denied = new Uint32Array(1024);
  readonly deniedRoutes = new Uint32Array(MOST_ROUTES + 1);

  constructor(name: string) {
    this.name = name;
  }

  /** The whole decides for its parts. */
  decide(_rows: RowBuffer, _from: number, _to: number, clients: number): void {
    if (clients > this.denied.length) this.denied = wider(this.denied, Math.max(clients, this.denied.length * 2));
  }

  allow(now: number, cost: number, delay: number): void {
    this.counts.allowed += 1;
    this.counts.allowedUnits += cost;
    if (delay === 0) {
      this.flow.add(now, cost);
      return;
    }
    this.counts.delayed += 1;
    this.counts.delays += delay;
    this.counts.longestDelay = Math.max(this.counts.longestDelay, delay);
    this.flow.addLater(now, delay, cost);
  }

  deny(client: number, route: number, cost: number, retryAfter: number): void {
    this.counts.denied += 1;
    this.counts.deniedUnits += cost;
    if (client >= this.denied.length) this.denied = wider(this.denied, Math.max(client + 1, this.denied.length * 2));
    this.denied[client]! += 1;
    if (retryAfter === Number.POSITIVE_INFINITY) this.counts.never += 1;
    else this.counts.longestRetry = Math.max(this.counts.longestRetry, retryAfter);
    if (route >= 0) this.deniedRoutes[route]! += 1;
  }
}

class WholeConfig extends ConfigPolicy {
  readonly #spends: SpendLists;
  readonly #policies: readonly ConfigPolicy[];
  readonly #onDenied: OnDenied | undefined;
  /** One for each place in a list. */
  readonly #steps: Step[] = [];

  constructor(spends: SpendLists, policies: readonly ConfigPolicy[], onDenied: OnDenied | undefined) {
    super('the whole config');
    this.#spends = spends;
    this.#policies = policies;
    this.#onDenied = onDenied;
  }

  override decide(rows: RowBuffer, from: number, to: number, clients: number): void {
    super.decide(rows, from, to, clients);
    for (let row = from; row < to; row += 1) {
      const spends = rows.spends![row]!;
      if (spends === UNREADABLE) this.#deny(rows, row, Number.POSITIVE_INFINITY, 'no key');
      else if (spends === UNLIMITED) this.allow(rows.times[row]!, 1, 0);
      else this.#attempt(rows, row, spends);
    }
  }

  /** All or nothing, but for shadows: they count alone, and never deny. */
  #attempt(rows: RowBuffer, row: number, list: number): void {
    const now = rows.times[row]!;
    const spends = this.#spends;
    const count = spends.count(list);
    let fits = true;
    for (let place = 0; place < count; place += 1) {
      this.#steps[place] ??= new Step();
      const step = this.#steps[place]!;
      const { rule, cost, isShadow } = spends.kind(list, place);
      rule.transition(spends.states.read(spends.state(list, place), rule), now, cost, step);
      if (!isShadow && !step.allowed) fits = false;
    }
    let [longest, by, delay] = [-1, 0, 0];
    for (let place = 0; place < count; place += 1) {
      const step = this.#steps[place]!;
      const { rule, cost, policy, isShadow } = spends.kind(list, place);
      const isSpent = isShadow ? step.allowed : fits;
      if (step.writes && (isSpent || !step.allowed)) spends.states.write(spends.state(list, place), rule, step);
      if (step.allowed && isSpent) this.#policies[policy]!.allow(now, cost, step.delay);
      if (!step.allowed) this.#policies[policy]!.deny(rows.clients[row]!, routeOf(rows, row), cost, step.retryAfter);
      if (!isShadow) delay = Math.max(delay, step.delay);
      if (!isShadow && !step.allowed && step.retryAfter > longest) [longest, by] = [step.retryAfter, policy];
    }
    if (fits) this.allow(now, 1, delay);
    else this.#deny(rows, row, longest, this.#policies[by]!.name);
  }

  #deny(rows: RowBuffer, row: number, retryAfter: number, by: string): void {
    this.deny(rows.clients[row]!, routeOf(rows, row), 1, retryAfter);
    this.#onDenied?.(rows, row, retryAfter, by);
  }
}

function routeOf({ routes }: RowBuffer, row: number): number {
  return routes === undefined ? -1 : routes[row]!;
}
