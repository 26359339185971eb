/**
 * The laboratory itself: one clock, one stream of requests, every card asked about each of them. It holds the set-up, moves time and
 * keeps the trace; it draws nothing. Whoever draws asks it, and is told of changes.
 */
import { CARD_IDS, type CardId, type Draft, limitOf, type Policies, policyOf } from '../cards/catalog.ts';
import { ONE_CLIENT, type Preset } from '../presets/presets.ts';
import { INITIAL_SETUP, type Setup } from '../share/share.ts';
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

/** What of a set-up a story is told with. */
type Told = Pick<Setup, 'drafts' | 'speed' | 'cost'>;

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
  /** By how many milliseconds a request of the story was decided too late, at most. Only in real time. */
  lateness = 0;
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
  /** As long as everything is being made as good as new: what comes meanwhile waits. */
  #restarting: Promise<void> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(setup: Setup, engine: Engine = makeEngine(setup.engine)) {
    this.setup = setup;
    this.policies = policiesOf(setup.drafts);
    this.#engine = engine;
    this.#begin();
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
    if (this.#restarting !== undefined) return;
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

  /** To the next request, of the past when that is looked at, or a second on when there is none to come. */
  async step(): Promise<void> {
    this.pause();
    if (this.viewed !== undefined) {
      this.look(this.#nextSeen(this.viewed));
      return;
    }
    const next = Math.min(this.#nextTold(), this.#nextMade());
    await this.advance(next < Number.POSITIVE_INFINITY ? Math.max(0, next - this.now) : STEP);
    this.#changed();
  }

  async send(count = 1): Promise<void> {
    while (this.#restarting !== undefined) await this.#restarting;
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
    await this.#restart();
    this.#changed();
  }

  /** On the cards as they are at first, unless it was told otherwise, as by an address that was shared. */
  async tell(preset: Preset, { drafts, speed, cost }: Told = INITIAL_SETUP): Promise<void> {
    const traffic = { ...this.setup.traffic, kind: 'manual' } as const;
    this.setup = { ...this.setup, drafts, traffic, speed, cost };
    this.policies = policiesOf(drafts);
    await this.#restart(preset);
    this.play();
  }

  async configure(id: CardId, draft: Draft): Promise<void> {
    const policy = policyOf(id, draft);
    this.setup = { ...this.setup, drafts: { ...this.setup.drafts, [id]: draft } };
    this.policies = { ...this.policies, [id]: policy };
    const canReplay = this.#engine instanceof BrowserEngine && this.trace.first === 0;
    if (canReplay) await this.#replay(id, this.#engine as BrowserEngine);
    else await this.#restart();
    this.#times = this.#traffic();
    this.#changed();
  }

  async switchEngine(kind: EngineKind): Promise<void> {
    this.setup = { ...this.setup, engine: kind, preset: undefined };
    this.#engine = makeEngine(kind);
    this.problem = undefined;
    await this.#restart();
    this.play();
  }

  change(part: Partial<Pick<Setup, 'speed' | 'burst' | 'cost'>>): void {
    this.setup = { ...this.setup, ...part };
    this.#changed();
  }

  changeTraffic(part: Partial<Traffic>): void {
    this.setup = { ...this.setup, traffic: { ...this.setup.traffic, ...part } };
    this.look(undefined);
    if (this.#rests) this.play();
    if (this.setup.traffic.kind !== 'manual') this.#leaveStory();
    this.#times = this.#traffic();
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

  #nextSeen(after: number): number | undefined {
    const next = Math.max(this.trace.first, this.trace.lastAt(after) + 1);
    return next < this.trace.length ? this.trace.at[this.trace.slot(next)] : undefined;
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
        if (this.story !== undefined) this.#noteLateness(arrivals, answered);
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

  #noteLateness(due: readonly Arrival[], answered: readonly Answered[]): void {
    for (const [index, { at }] of answered.entries()) {
      this.lateness = Math.max(this.lateness, Math.abs(at - this.origin - due[index]!.at));
    }
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

  #restart(story?: Preset): Promise<void> {
    if (this.#rests) this.playing = true;
    this.#leaveStory();
    this.#waiting = [];
    this.clients = ONE_CLIENT;
    this.client = 0;
    this.viewed = undefined;
    this.lateness = 0;
    this.trace.clear();
    const restarting = this.#renewEngine()
      .catch((error: unknown) => this.#report(String((error as Error).message)))
      .then(() => {
        // Somebody wanted something else meanwhile.
        if (this.#restarting !== restarting) return;
        this.#restarting = undefined;
        this.#begin(story);
        this.#times = this.#traffic();
        if (story !== undefined) this.#openStory(story);
      });
    this.#restarting = restarting;
    return restarting;
  }

  /** And learns what the clock is that will decide: half of the way there and back is the best guess of when it was read. */
  async #renewEngine(): Promise<void> {
    const engine = this.#engine;
    await this.#answer;
    await engine.reset();
    if (engine.isVirtual) return;
    const asked = Date.now();
    const read = await engine.readClock();
    if (engine !== this.#engine) return;
    this.#skew = read - (asked + Date.now()) / 2;
    if (this.problem !== undefined) this.#report(undefined);
  }

  /** Sets the clocks so that the lab is where a story starts, or at 0. In real time a story waits until a window of the clock lies as it needs it. */
  #begin(story?: Preset): void {
    const start = story?.start ?? 0;
    this.origin = 0;
    this.start = start;
    this.now = start;
    if (this.#engine.isVirtual) return;
    const { window } = this.#target();
    const now = Math.floor(Date.now() + this.#skew);
    this.origin = story === undefined ? now : Math.ceil((now - start) / window) * window;
    this.now = this.#realTime();
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

  #openStory(story: Preset): void {
    this.setup = { ...this.setup, preset: story.id };
    this.clients = story.clients;
    this.story = story;
    this.#script = story.script;
    this.#ends = this.#engine.isVirtual ? story.end : Number.POSITIVE_INFINITY;
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
