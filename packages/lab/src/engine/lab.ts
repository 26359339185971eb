/**
 * The laboratory itself: one clock, one stream of requests, every card asked about each of them. It holds the set-up, moves time and
 * keeps the trace; it draws nothing. Whoever draws asks it, and is told of changes.
 */
import { CARD_IDS, type CardId, type Draft, limitOf, type Policies, policyOf } from '../cards/catalog.ts';
import { ONE_CLIENT, PRESET_DRAFTS, type Preset } from '../presets/presets.ts';
import type { Setup } from '../share/share.ts';
import { arrivalTimes, type Traffic } from '../traffic/traffic.ts';
import { BrowserEngine } from './browser-engine.ts';
import { type CardState, stateAt } from './card-state.ts';
import type { Answered, Engine, EngineKind } from './engine.ts';
import { ServerEngine } from './server-engine.ts';
import { type Arrival, type Counts, Trace, wholeMicroseconds } from './trace.ts';

/** More than this in one frame and the page would stutter; time then runs slower than asked. */
const MOST_IN_A_FRAME = 600;
/** What one step does when no request is to come. */
const STEP = 1_000;
/** A tab that was in the background does not catch up. */
const LONGEST_FRAME = 250;

/** Less than this is the way of an answer, not another clock. */
const SAME_CLOCK = 1_000;

export class Lab {
  readonly trace = new Trace();
  setup: Setup;
  policies: Policies;
  clients: readonly string[] = ONE_CLIENT;
  /** Whose state the cards show. */
  client = 0;
  /** The lab's time 0 on the engine's clock. */
  origin = 0;
  start = 0;
  now = 0;
  playing = true;
  /** A moment of the past that is looked at; undefined: now. */
  viewed: number | undefined;
  /** The story that is being told; undefined once it is over or something else is done. */
  story: Preset | undefined;
  problem: string | undefined;
  /** Marks in the lanes of the time line, by card, once there is one. */
  lanes: Readonly<Record<CardId, Counts>> | undefined;

  #engine: Engine;
  #script: readonly Arrival[] = [];
  #told = 0;
  #ends = Number.POSITIVE_INFINITY;
  #times: Iterator<number, never>;
  #next = 0;
  /** Whether time stands because a story ended: then the next request sets it going again. */
  #rests = false;
  #waiting: Arrival[] = [];
  /** What the engine's clock is ahead of this page's, where the two are not one. */
  #skew = 0;
  /** Of the request to the server that is under way. */
  #answer: Promise<void> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(setup: Setup, engine: Engine = makeEngine(setup.engine)) {
    this.setup = setup;
    this.policies = policiesOf(setup.drafts);
    this.#engine = engine;
    this.#begin(0);
    this.#times = this.#traffic();
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** The moment that is shown. */
  get time(): number {
    return this.viewed ?? this.now;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  state(id: CardId, client = this.client, time = this.time): CardState {
    return stateAt(this.trace, id, this.policies[id], client, time, this.origin);
  }

  /** Lets `elapsed` milliseconds of real time pass. */
  async frame(elapsed: number): Promise<void> {
    if (!this.#engine.isVirtual) {
      this.now = Math.max(this.now, this.#realTime());
      if (this.#next < this.now - LONGEST_FRAME) this.#times = this.#traffic();
      this.#collect(this.playing ? this.now : Number.NEGATIVE_INFINITY);
      void this.#askServer();
      return;
    }
    if (!this.playing || this.viewed !== undefined) return;
    await this.advance(Math.min(elapsed, LONGEST_FRAME) * this.setup.speed);
  }

  /** Lets `ms` of the lab's time pass, with whatever arrives in it. Only where time is virtual. */
  async advance(ms: number): Promise<void> {
    const target = Math.min(this.now + ms, this.#ends);
    const isAll = this.#collect(target);
    this.now = isAll ? target : this.#waiting.at(-1)!.at;
    await this.#ask();
    if (this.now >= this.#ends) this.#endStory();
  }

  /** To the next request, or a second on when there is none to come. */
  async step(): Promise<void> {
    this.pause();
    const next = Math.min(this.#nextTold(), this.#nextMade());
    await this.advance(next < Number.POSITIVE_INFINITY ? Math.max(0, next - this.now) : STEP);
    this.#changed();
  }

  async send(count = 1): Promise<void> {
    this.look(undefined);
    if (this.#rests) this.play();
    this.#rests = false;
    const { cost } = this.setup;
    for (let sent = 0; sent < count; sent += 1) this.#waiting.push({ at: this.now, client: this.client, cost });
    if (this.#engine.isVirtual) await this.#ask();
    else {
      await this.#answer;
      await this.#askServer();
    }
    this.#changed();
  }

  /** Every counter is as good as new, and the time line is empty. */
  async reset(): Promise<void> {
    await this.#restart(0);
    this.#changed();
  }

  async tell(preset: Preset): Promise<void> {
    const traffic = { ...this.setup.traffic, kind: 'manual' } as const;
    this.setup = { ...this.setup, drafts: PRESET_DRAFTS, traffic, speed: 1, cost: 1 };
    this.policies = policiesOf(this.setup.drafts);
    await this.#restart(preset.start);
    this.setup = { ...this.setup, preset: preset.id };
    this.clients = preset.clients;
    this.story = preset;
    this.#script = preset.script;
    this.#ends = this.#engine.isVirtual ? preset.end : Number.POSITIVE_INFINITY;
    this.play();
  }

  async configure(id: CardId, draft: Draft): Promise<void> {
    const policy = policyOf(id, draft);
    this.setup = { ...this.setup, drafts: { ...this.setup.drafts, [id]: draft } };
    this.policies = { ...this.policies, [id]: policy };
    const canReplay = this.#engine instanceof BrowserEngine && this.trace.first === 0;
    if (canReplay) await this.#replay(id, this.#engine as BrowserEngine);
    else await this.#restart(0);
    this.#times = this.#traffic();
    this.#changed();
  }

  async switchEngine(kind: EngineKind): Promise<void> {
    this.setup = { ...this.setup, engine: kind, preset: undefined };
    this.#engine = makeEngine(kind);
    this.problem = undefined;
    await this.#restart(0);
    this.play();
  }

  change(part: Partial<Pick<Setup, 'speed' | 'burst' | 'cost'>>): void {
    this.setup = { ...this.setup, ...part };
    this.#changed();
  }

  changeTraffic(part: Partial<Traffic>): void {
    this.setup = { ...this.setup, traffic: { ...this.setup.traffic, ...part } };
    if (this.setup.traffic.kind !== 'manual') this.#leaveStory();
    this.look(undefined);
    this.#times = this.#traffic();
    if (this.#rests) this.play();
    this.#changed();
  }

  play(): void {
    this.viewed = undefined;
    this.playing = true;
    if (this.#rests) this.#leaveStory();
    this.#rests = false;
    this.#changed();
  }

  pause(): void {
    this.playing = false;
    this.#changed();
  }

  /** Looks at a moment of the past; undefined goes back to now. */
  look(time: number | undefined): void {
    const viewed = time === undefined || time >= this.now ? undefined : Math.max(this.start, time);
    if (viewed === this.viewed) return;
    this.viewed = viewed;
    this.#changed();
  }

  show(client: number): void {
    this.client = client;
    this.#changed();
  }

  /** Takes everything that arrives up to a time; false when that is more than one frame bears. */
  #collect(target: number): boolean {
    for (let count = 0; count < MOST_IN_A_FRAME; count += 1) {
      const [told, made] = [this.#nextTold(), this.#nextMade()];
      if (Math.min(told, made) > target) return true;
      if (told <= made) {
        this.#waiting.push(this.#script[this.#told]!);
        this.#told += 1;
      } else {
        this.#waiting.push({ at: made, client: 0, cost: this.setup.cost });
        this.#next = this.#times.next().value;
      }
    }
    return false;
  }

  #nextTold(): number {
    return this.#script[this.#told]?.at ?? Number.POSITIVE_INFINITY;
  }

  #nextMade(): number {
    return wholeMicroseconds(this.#next);
  }

  async #ask(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const arrivals = this.#waiting;
    this.#waiting = [];
    this.#append(await this.#engine.ask(arrivals, this.clients, this.policies));
  }

  /** One request to the server at a time; what comes meanwhile goes with the next one. */
  #askServer(): Promise<void> {
    if (this.#waiting.length === 0) return this.#answer ?? Promise.resolve();
    this.#answer ??= this.#askOnce().finally(() => {
      this.#answer = undefined;
    });
    return this.#answer;
  }

  async #askOnce(): Promise<void> {
    const [engine, { generation }, arrivals] = [this.#engine, this.trace, this.#waiting];
    this.#waiting = [];
    try {
      const answered = await engine.ask(arrivals, this.clients, this.policies);
      if (engine === this.#engine && generation === this.trace.generation) {
        this.#compareClocks(answered.at(-1)!.at);
        this.#append(answered);
      }
      if (this.problem !== undefined) this.#report(undefined);
    } catch (error) {
      if (engine === this.#engine) this.#report(String((error as Error).message));
    }
  }

  /** The server's clock counts: what the page's own is off by is learnt from an answer that has just come. */
  #compareClocks(at: number): void {
    const skew = at - Date.now();
    if (Math.abs(skew - this.#skew) < SAME_CLOCK) return;
    if (this.trace.length === 0) this.origin += skew - this.#skew;
    this.#skew = skew;
  }

  #report(problem: string | undefined): void {
    this.problem = problem;
    this.#changed();
  }

  #append(answered: readonly Answered[]): void {
    for (const { at, client, cost, answers } of answered) {
      const { trace, origin } = this;
      const earliest = trace.length === 0 ? Number.NEGATIVE_INFINITY : trace.at[trace.slot(trace.length - 1)]!;
      trace.append({ at: Math.max(at - origin, earliest), client, cost }, answers, this.policies, origin);
      this.now = Math.max(this.now, at - origin);
    }
  }

  async #replay(id: CardId, engine: BrowserEngine): Promise<void> {
    const { trace } = this;
    const arrivals = Array.from({ length: trace.length }, (_, index) => ({
      at: trace.at[index]!,
      client: trace.client[index]!,
      cost: trace.cost[index]!,
    }));
    const answers = await engine.replay(id, this.policies[id], arrivals, this.clients);
    trace.rewrite(id, answers, this.policies, this.origin);
  }

  async #restart(start: number): Promise<void> {
    this.#leaveStory();
    this.#waiting = [];
    this.clients = ONE_CLIENT;
    this.client = 0;
    this.viewed = undefined;
    this.trace.clear();
    this.#begin(start);
    this.#times = this.#traffic();
    try {
      await this.#engine.reset();
    } catch (error) {
      this.#report(String((error as Error).message));
    }
  }

  /** Sets the clocks so that it is `start` in the lab. In real time the wait for the next window that lies on the clock as the story needs it comes before. */
  #begin(start: number): void {
    this.origin = 0;
    if (!this.#engine.isVirtual) {
      const { window } = this.#target();
      const now = Math.floor(Date.now() + this.#skew);
      this.origin = start === 0 ? now : Math.ceil((now - start) / window) * window;
    }
    this.now = this.#engine.isVirtual ? start : this.#realTime();
    this.start = this.now;
  }

  #realTime(): number {
    return Date.now() + this.#skew - this.origin;
  }

  #traffic(): Iterator<number, never> {
    const times = arrivalTimes(this.setup.traffic, this.now, this.#target());
    this.#next = times.next().value;
    return times;
  }

  #target(): { limit: number; window: number; origin: number } {
    const policy = this.policies['fixed-window'];
    return { limit: limitOf(policy), window: 'window' in policy ? policy.window : 10_000, origin: this.origin };
  }

  #endStory(): void {
    this.#ends = Number.POSITIVE_INFINITY;
    this.#rests = true;
    this.pause();
  }

  #leaveStory(): void {
    this.#script = [];
    this.#told = 0;
    this.#ends = Number.POSITIVE_INFINITY;
    this.#rests = false;
    this.story = undefined;
    if (this.setup.preset !== undefined) this.setup = { ...this.setup, preset: undefined };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function policiesOf(drafts: Setup['drafts']): Policies {
  return Object.fromEntries(CARD_IDS.map((id) => [id, policyOf(id, drafts[id])])) as Policies;
}

function makeEngine(kind: EngineKind): Engine {
  return kind === 'browser' ? new BrowserEngine() : new ServerEngine(kind);
}
