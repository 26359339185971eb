/**
 * The laboratory itself: what it is set to, whether time goes on, which moment is looked at, and which story is told. It draws nothing: whoever draws
 * asks it, and is told of changes.
 */
import type { Engine, EngineKind } from '../engine/engine.ts';
import { makeEngine } from '../engine/make-engine.ts';
import type { Draft } from '../model/kind.ts';
import { kindOf } from '../model/kinds/index.ts';
import { type SharedLimit, timeScale } from '../model/limit.ts';
import type { Row } from '../model/row.ts';
import { type RowState, stateAt } from '../model/state.ts';
import { planOf } from '../model/stories/index.ts';
import type { Facts, Plan, Story } from '../model/stories/story.ts';
import { INITIAL_SETUP, rowsOf, type Setup, type SharedMoment } from '../setup/setup.ts';
import type { Counts } from '../trace/answers.ts';
import type { Arrival, RowId, Trace } from '../trace/trace.ts';
import type { Traffic } from '../traffic/traffic.ts';
import { factsAt } from './facts.ts';
import { Player } from './player.ts';
import { Run } from './run.ts';
import type { Source } from './source.ts';

/** A tab that was in the background does not catch up. */
const LONGEST_FRAME = 250;
/** What one step does when no request is to come, in windows. */
const STEP = 0.1;

/** What of a set-up a story is told with. */
type Told = Pick<Setup, 'limit' | 'own' | 'speed' | 'cost'>;

export class Lab {
  setup: Setup;
  readonly #run: Run;
  /** Whose state the rows show. */
  client = 0;
  playing = true;
  /** A moment of the past that is looked at; undefined: now. */
  viewed: number | undefined;
  /** The story that is told; undefined once something else is done. */
  player: Player | undefined;
  /** Whether a story was left because somebody sent requests of their own. */
  hasLeftStory = false;
  /** Whether a story is over and time stands on its last frame: the next request sets it going again. */
  isOver = false;
  /** What keeps answers from coming, as a sentence. */
  problem: string | undefined;
  /** Marks in the lanes of the time line, by row, once there is one. */
  lanes: Readonly<Record<RowId, Counts>> | undefined;
  /** Which part of time the lanes show, once there are lanes: from where, and how many milliseconds. */
  shown: { readonly from: number; readonly span: number } | undefined;
  /** What was sent by hand since everything began; undefined once something was done that cannot be told again. */
  #byHand: Arrival[] | undefined = [];
  readonly #listeners = new Set<() => void>();

  constructor(setup: Setup, engine: Engine = makeEngine(setup.engine)) {
    this.setup = setup;
    const beginning = { rows: rowsOf(setup), limit: setup.limit };
    this.#run = new Run(engine, beginning, (problem) => this.#report(problem));
    this.#run.makeTraffic(setup.traffic);
  }

  get engine(): Engine {
    return this.#run.engine;
  }

  get rows(): readonly Row[] {
    return this.#run.rows;
  }

  get trace(): Trace {
    return this.#run.trace;
  }

  get clients(): readonly string[] {
    return this.#run.clients;
  }

  /** The limit that holds: the reader's, or that of the story. */
  get limit(): SharedLimit {
    return this.#run.limit;
  }

  get origin(): number {
    return this.#run.origin;
  }

  get start(): number {
    return this.#run.start;
  }

  get now(): number {
    return this.#run.now;
  }

  get lateness(): number {
    return this.player === undefined ? 0 : this.#run.lateness;
  }

  get story(): Story | undefined {
    return this.player?.story;
  }

  /** The moment that is shown. */
  get time(): number {
    return this.viewed ?? this.now;
  }

  /** Milliseconds of the lab in one of real time. */
  get rate(): number {
    if (!this.engine.isVirtual) return 1;
    return this.setup.speed * timeScale(this.limit) * (this.player?.pace ?? 1);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  row(id: RowId): Row {
    return this.rows.find((row) => row.id === id) ?? this.rows[0]!;
  }

  state(id: RowId, client = this.client, time = this.time): RowState {
    return stateAt(this.trace, this.row(id), client, time, this.origin);
  }

  facts(time = this.time): Facts {
    return factsAt({ trace: this.trace, rows: this.rows, origin: this.origin, time });
  }

  /** What is to come. */
  get source(): Source {
    return this.#run.source;
  }

  /** Lets `elapsed` milliseconds of real time pass. */
  async frame(elapsed: number): Promise<void> {
    if (this.#run.isRestarting) return;
    if (!this.engine.isVirtual) {
      this.#run.realFrame(this.playing, this.setup.cost, this.player === undefined ? this.setup.traffic : undefined);
      this.#reachBeats();
      return;
    }
    if (!this.playing || this.viewed !== undefined) return;
    const passed = Math.min(elapsed, LONGEST_FRAME);
    if (this.player?.isHeld === true) {
      if (!this.player.wait(passed)) return;
      this.#changed();
    }
    const target = this.now + passed * this.rate;
    await this.advance(Math.min(target, this.player?.nextStop ?? target) - this.now);
  }

  /** Lets `ms` of the lab's time pass, with whatever arrives in it, but not past the end of a story. Only where time is virtual. */
  async advance(ms: number): Promise<void> {
    const end = this.story === undefined || this.isOver ? Number.POSITIVE_INFINITY : this.story.end;
    await this.#run.advance(Math.min(this.now + ms, end), this.setup.cost);
    this.#reachBeats();
    if (this.now >= end) this.#endStory();
  }

  /** The same over any time: what one frame does not bear is done in several. */
  async advanceTo(time: number): Promise<void> {
    while (this.now < time && !this.isOver) await this.advance(time - this.now);
  }

  /** To the next request, of the past when that is looked at, or a little on when there is none to come. */
  async step(): Promise<void> {
    this.pause();
    if (this.viewed !== undefined) {
      const next = Math.max(this.trace.first, this.trace.lastAt(this.viewed) + 1);
      this.look(next < this.trace.length ? this.trace.at[this.trace.slot(next)] : undefined);
      return;
    }
    const { next } = this.source;
    await this.advance(next < Number.POSITIVE_INFINITY ? Math.max(0, next - this.now) : STEP * this.limit.window);
    this.#changed();
  }

  /** To every row, or to one of them alone. */
  async send(count = 1, only?: RowId): Promise<void> {
    await this.#run.ready();
    this.look(undefined);
    if (count > 0) this.#leaveStoryByHand();
    const arrival = { at: this.now, client: this.client, cost: this.setup.cost, only };
    const arrivals = Array.from({ length: count }, () => arrival);
    this.#byHand?.push(...arrivals);
    this.#run.asker.add(arrivals);
    await this.#run.asker.ask();
    this.#changed();
  }

  /** Requests of the reader's own that come in a while; times are counted from now. */
  async sendLater(arrivals: readonly Arrival[]): Promise<void> {
    await this.#run.ready();
    this.#leaveStoryByHand();
    const script = arrivals.map((arrival) => ({ ...arrival, at: this.now + arrival.at }));
    this.#byHand?.push(...script);
    this.#run.source.tell(script);
    this.play();
  }

  /** Every counter is reset, and the time line is empty. */
  async reset(): Promise<void> {
    await this.#restart();
    this.#changed();
  }

  /** With the reader's own limit, on rows that all have it, unless it was told otherwise, as by an address that was shared. */
  async tell(plan: Plan, told: Partial<Told> = {}): Promise<void> {
    const { limit = this.setup.limit, own = {}, speed = INITIAL_SETUP.speed, cost = INITIAL_SETUP.cost } = told;
    const traffic = { ...this.setup.traffic, kind: 'manual' } as const;
    this.setup = { ...this.setup, limit, own, traffic, speed, cost };
    const story = plan.make(limit);
    if (story.rows !== undefined && !this.engine.isVirtual) this.#useEngine('browser');
    await this.#restart(story);
    this.play();
  }

  /** The story that is told, from its start. */
  async replay(): Promise<void> {
    const plan = planOf(this.story?.id);
    if (plan !== undefined) await this.tell(plan, this.setup);
  }

  /** An answer to what the story asks. */
  choose(choice: string | undefined): void {
    this.player?.choose(choice);
    this.playing = true;
    this.#changed();
  }

  /** To the next beat of the story, without waiting for it. */
  async nextBeat(): Promise<void> {
    const { player } = this;
    if (player === undefined || this.isOver || !this.engine.isVirtual) return;
    player.choose(undefined);
    await this.advanceTo(player.nextStop);
    this.#changed();
  }

  /** Shows a moment that somebody shared: everything that came until then, and time stands. */
  async showMoment({ sent, time, trafficFrom }: SharedMoment): Promise<void> {
    await this.#restart();
    this.#run.source.tell(sent);
    this.#run.makeTraffic(this.setup.traffic, trafficFrom);
    await this.advanceTo(time);
    this.#byHand = [...sent];
    this.pause();
  }

  /** What an address has to say so that this moment can be shown again; undefined when it cannot. */
  get moment(): SharedMoment | undefined {
    if (this.#byHand === undefined || !this.engine.isVirtual || this.player !== undefined) return undefined;
    return { sent: this.#byHand, time: this.time, trafficFrom: this.#run.trafficFrom };
  }

  /** Numbers of its own for a row; undefined: those of the shared limit. */
  async configure(id: RowId, draft: Draft | undefined): Promise<void> {
    const { [id]: _, ...others } = this.setup.own;
    const shared = JSON.stringify(kindOf(id)!.draftOf(this.limit));
    const isShared = draft === undefined || JSON.stringify(draft) === shared;
    this.setup = { ...this.setup, own: isShared ? others : { ...others, [id]: draft } };
    await this.#changeRows();
  }

  /** One limit for all rows. Another window is another pace, so everything begins anew. */
  async changeLimit(limit: SharedLimit): Promise<void> {
    const isSamePace = limit.window === this.limit.window;
    const plan = planOf(this.story?.id);
    this.setup = { ...this.setup, limit };
    if (plan !== undefined) await this.tell(plan, this.setup);
    else if (isSamePace) await this.#changeRows();
    else await this.#restart();
    this.#changed();
  }

  async switchEngine(kind: EngineKind): Promise<void> {
    this.#useEngine(kind);
    await this.#restart();
    this.play();
  }

  change(part: Partial<Pick<Setup, 'speed' | 'burst' | 'cost'>>): void {
    this.setup = { ...this.setup, ...part };
    this.#changed();
  }

  changeTraffic(part: Partial<Traffic>): void {
    // Only traffic that began after nothing else can be told again by its kind and its start.
    if (this.setup.traffic.kind !== 'manual' && this.trace.length > 0) this.#byHand = undefined;
    this.setup = { ...this.setup, traffic: { ...this.setup.traffic, ...part } };
    this.look(undefined);
    if (this.isOver) this.play();
    if (this.setup.traffic.kind !== 'manual') this.#leaveStory();
    this.#run.makeTraffic(this.setup.traffic);
    this.#changed();
  }

  play(): void {
    this.viewed = undefined;
    this.playing = true;
    if (this.isOver) this.#leaveStory();
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

  /** Whose state is shown. */
  showClient(client: number): void {
    this.client = client;
    this.#changed();
  }

  #reachBeats(): void {
    const { player } = this;
    if (player === undefined) return;
    const before = player.place.beat;
    player.reached(this.now, () => this.facts(this.now));
    if (player.place.beat !== before) this.#changed();
  }

  #report(problem: string | undefined): void {
    if (problem === this.problem) return;
    this.problem = problem;
    this.#changed();
  }

  async #changeRows(): Promise<void> {
    const limit = this.story?.limit ?? this.setup.limit;
    const rows = this.story?.rows ?? rowsOf({ limit, own: this.setup.own });
    if (!(await this.#run.changeRows(rows, limit))) await this.#restart();
    this.#run.makeTraffic(this.setup.traffic);
    this.#changed();
  }

  async #restart(story?: Story): Promise<void> {
    if (this.isOver) this.playing = true;
    this.#leaveStory();
    this.client = 0;
    this.viewed = undefined;
    this.hasLeftStory = false;
    this.#byHand = [];
    const limit = story?.limit ?? this.setup.limit;
    const rows = story?.rows ?? rowsOf({ limit, own: this.setup.own });
    const isMine = await this.#run.restart({ ...story, limit, rows, isTimed: story !== undefined });
    if (!isMine) return;
    this.#run.makeTraffic(this.setup.traffic);
    if (story === undefined) return;
    this.setup = { ...this.setup, story: story.id };
    this.player = new Player(story, this.engine.isVirtual);
  }

  #useEngine(kind: EngineKind): void {
    this.setup = { ...this.setup, engine: kind, story: undefined };
    this.#run.asker.change(makeEngine(kind));
    this.problem = undefined;
  }

  #endStory(): void {
    if (this.isOver || this.player === undefined) return;
    this.player.end(() => this.facts(this.now));
    this.isOver = true;
    this.pause();
  }

  /** The rows go on with the limit of the story, as their states are under it. */
  #leaveStoryByHand(): void {
    this.look(undefined);
    if (this.story === undefined) return;
    if (this.story.rows === undefined) this.setup = { ...this.setup, limit: this.limit };
    this.#byHand = undefined;
    this.playing = true;
    this.#leaveStory();
    this.hasLeftStory = true;
  }

  #leaveStory(): void {
    this.#run.source.tell([]);
    this.isOver = false;
    this.player = undefined;
    if (this.setup.story !== undefined) this.setup = { ...this.setup, story: undefined };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
