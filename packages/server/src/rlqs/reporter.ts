/** One proxy on one stream: its buckets, what it is told, and whether it takes that in time. */
import { createHash } from 'node:crypto';
import type { Action, Usage } from './messages.ts';
import { LATENESS_MS, type Labels } from './quota.ts';
import type { Assigned, Quotas } from './quotas.ts';
import type { Subscription } from './subscription.ts';

/** The side of a proxy that is told something. */
export interface Proxy {
  send(actions: readonly (readonly [labels: Labels, action: Action])[]): void;
  /** Resolves when the proxy has got all that was sent before. */
  roundTrip(): Promise<void>;
  /** It does not take what it is sent. */
  giveUp(reason: string): void;
}

/** Told again with each report. */
const BLANKET_MS = 60_000;
const MAX_READABLE_KEY = 512;

/** Buckets of one proxy. */
const MOST_SUBSCRIPTIONS = 1000;

/** One proxy, on one stream. */
export class Reporter {
  readonly #quotas: Quotas;
  readonly #domain: string;
  readonly #proxy: Proxy;
  readonly #known = new Map<string, Subscription>();
  #isClosed = false;

  constructor(quotas: Quotas, domain: string, proxy: Proxy) {
    this.#quotas = quotas;
    this.#domain = domain;
    this.#proxy = proxy;
  }

  /** Resolves when the proxy was told what follows from it. Rejects for what it may not do. */
  async report(usages: readonly Usage[]): Promise<void> {
    const answers = await Promise.all(usages.map((usage) => this.#one(usage)));
    const sent = answers.filter((answer) => answer !== undefined);
    if (sent.length === 0 || this.#isClosed) return;
    for (const { subscription, assigned } of sent) {
      if (subscription !== undefined) this.#quotas.sent(subscription, assigned);
    }
    this.#proxy.send(sent.map(({ labels, assigned }) => [labels, assigned.action] as const));
    const blocks = sent.map(({ assigned }) => assigned).filter(({ block }) => block !== undefined);
    if (blocks.length === 0) return;
    const timeLeft = Math.min(...blocks.map((assigned) => this.#quotas.timeLeft(assigned)));
    void this.#proxy.roundTrip().then(
      () => this.#got(blocks),
      () => {},
    );
    this.#watch(blocks, timeLeft);
  }

  close(): void {
    this.#isClosed = true;
    for (const [key, subscription] of this.#known) this.#quotas.forget(key, subscription);
    this.#known.clear();
  }

  #got(blocks: readonly Assigned[]): void {
    const now = this.#quotas.now();
    for (const { block } of blocks) block!.gotAt = now;
  }

  /** Whoever gets a block too late would spend it too late: its connection is closed, and what it has not got it never gets. */
  #watch(blocks: readonly Assigned[], timeLeft: number): void {
    const look = (): void => {
      if (this.#isClosed || blocks.every(({ block }) => block!.gotAt !== undefined)) return;
      const reason = `the connection took longer than ${LATENESS_MS} ms to take an assignment: open another one`;
      this.#proxy.giveUp(reason);
    };
    this.#quotas.wakeAfter(Math.max(0, timeLeft), look);
  }

  async #one(usage: Usage): Promise<Told | undefined> {
    const { labels } = usage;
    const quota = this.#quotas.quotaFor(this.#domain, labels);
    if (quota === undefined) return undefined;
    const { rule } = quota;
    if ('blanket' in rule) {
      const kind = rule.blanket === 'allow' ? ('allow_all' as const) : ('deny_all' as const);
      return { labels, subscription: undefined, assigned: { action: { kind, ttlMs: BLANKET_MS } } };
    }
    const key = keyOf(this.#domain, labels);
    const subscription = this.#known.get(key) ?? this.#subscribe(key, labels);
    const assigned = await this.#quotas.report(key, subscription, usage, rule);
    if (assigned === undefined) return undefined;
    if (assigned.action.kind === 'abandon') {
      this.#known.delete(key);
      this.#quotas.forget(key, subscription);
    }
    return { labels, subscription, assigned };
  }

  #subscribe(key: string, labels: Labels): Subscription {
    if (this.#known.size >= MOST_SUBSCRIPTIONS) throw new TooManyBuckets(MOST_SUBSCRIPTIONS);
    const subscription = this.#quotas.subscribe(key, labels);
    this.#known.set(key, subscription);
    return subscription;
  }
}

interface Told {
  readonly labels: Labels;
  readonly subscription: Subscription | undefined;
  readonly assigned: Assigned;
}

/** More buckets than one proxy may have. */
export class TooManyBuckets extends Error {
  constructor(most: number) {
    super(`a stream must not report more than ${most} buckets`);
  }
}

/** The order of labels does not matter; no two different buckets have the same. */
export function keyOf(domain: string, labels: Labels): string {
  const names = Object.keys(labels).sort();
  const text = JSON.stringify([domain, ...names.flatMap((name) => [name, labels[name]])]);
  return text.length <= MAX_READABLE_KEY ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
