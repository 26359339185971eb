/**
 * The workers of a server, as the primary process keeps them: it starts them, replaces one that dies, passes on what they ask each other, and adds up
 * what they have counted. Node's cluster gives them one port: the primary takes connections and hands them out in turn, which is also fair
 * to the few and long ones of gRPC.
 */
import cluster, { type Worker } from 'node:cluster';
import type { TlsFiles } from '../files/tls.ts';
import type { Gathered, Report } from '../service/crew.ts';
import type { FoundFiles } from '../service/load-config.ts';
import type { Log } from '../service/log.ts';
import { type Counts, Metrics } from '../service/metrics.ts';
import { sum } from '../service/sum.ts';
import { within } from '../service/within.ts';
import { Channel, NoAnswer } from './channel.ts';
import { Deaths, MOST_DEATHS } from './deaths.ts';
import type { Applied, Listening, ToPrimary, ToWorker } from './questions.ts';

/** What `Pool` takes. */
export interface PoolOptions {
  /** The file that a worker runs. */
  readonly file: string;
  readonly size: number;
  /** Of the command. They go to each worker as they are. */
  readonly options: unknown;
  readonly found: FoundFiles | undefined;
  readonly log: Log;
}

/** Longer than a look at Redis takes. */
const REPORT_MS = 1000;
/** Of what workers do for each other: as long as Redis may take, and some. */
const PASS_MS = 10_000;
/** Whoever resets a key does not wait for a worker that hangs. */
const FORGET_MS = 250;
const PREPARE_MS = 2000;
/** To close connections to Redis, and end. */
const END_MS = 2000;

interface Member {
  readonly id: number;
  readonly worker: Worker;
  readonly channel: Channel<ToPrimary>;
  readonly ended: Promise<void>;
  /** Takes requests. */
  isListening: boolean;
  /** What it told last. */
  counts: Counts | undefined;
  /** Why it ended, in its own words. */
  cause: string | undefined;
}

export class Pool {
  readonly #options: PoolOptions;
  /** Of the primary itself: what happens once, however many workers there are. */
  readonly metrics = new Metrics();
  readonly #members = new Map<number, Member>();
  readonly #deaths = new Deaths();
  /** What those counted that have ended. */
  #retired: Counts | undefined;
  #found: FoundFiles | undefined;
  /** Another one than at the start. */
  #tls: TlsFiles | undefined;
  #address: string | undefined;
  #isStarted = false;
  #isEnding = false;
  #fail: (error: Error) => void = () => {};
  /** Rejects when the server cannot go on. */
  readonly failed: Promise<never>;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#found = options.found;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  /** Resolves when all workers take requests. Rejects with what one of them failed with; then all have ended. */
  async start(): Promise<Listening> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ exec: this.#options.file, args: [], serialization: 'advanced' });
    try {
      const starts = Array.from({ length: this.#options.size }, () => this.#startOne());
      const [first] = await Promise.race([Promise.all(starts), this.failed]);
      this.#address = first!.listening.url;
      this.#isStarted = true;
      return first!.listening;
    } catch (error) {
      await this.#kill();
      throw error;
    }
  }

  /** What all workers say of the last seconds. Those that do not answer in time are named. */
  async gather(seconds: number): Promise<Gathered> {
    const members = this.#listening();
    const answers = await Promise.all(members.map((member) => this.#reportOf(member, seconds)));
    const counts = [this.#retired, ...members.map((member) => member.counts)].filter((known) => known !== undefined);
    return {
      counts: counts.reduce(sum, this.metrics.counts()),
      reports: answers.filter((report) => report !== undefined),
      workers: {
        count: members.length,
        silent: members.filter((_, index) => answers[index] === undefined).map(({ id }) => id),
      },
    };
  }

  /**
   * All workers, or none: each looks at it first. Returns what is wrong, in sentences, when nobody has taken it. Those that start meanwhile
   * begin with the old one, and take the new one with all others.
   */
  async replaceConfig(found: FoundFiles): Promise<{ readonly problems: readonly string[]; readonly applied: Applied }> {
    const looks = [...this.#members.values()].map((member) => this.#looked(member, found));
    const problems = (await Promise.all(looks)).filter((problem) => problem !== undefined);
    if (problems.length > 0) return { problems, applied: {} };
    this.#found = found;
    const taken = [...this.#members.values()].map((member) =>
      member.channel.ask({ verb: 'apply', found }, PASS_MS).then(
        (applied) => applied as Applied,
        // It died, and who takes its place begins with the new one; or it hangs, and finds it when it goes on.
        (): Applied => ({}),
      ),
    );
    const all = await Promise.all(taken);
    return {
      problems,
      applied: {
        opened: all.find(({ opened }) => opened !== undefined)?.opened,
        problem: all.find(({ problem }) => problem !== undefined)?.problem,
      },
    };
  }

  /** Those that start later begin with it. One that hangs has it when it goes on. */
  async useCertificate(tls: TlsFiles): Promise<void> {
    this.#tls = tls;
    const members = [...this.#members.values()];
    const question: ToWorker = { verb: 'use-certificate', tls };
    await Promise.allSettled(members.map(({ channel }) => channel.ask(question, PASS_MS)));
  }

  /** All finish what they have, and help each other until the last has; then all end. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    const members = [...this.#members.values()];
    const drained = members.map(({ channel }) => channel.ask({ verb: 'drain', timeoutMs }, timeoutMs + END_MS));
    await Promise.allSettled(drained);
    for (const { channel } of members) channel.ask({ verb: 'end' }).catch(() => {});
    await within(END_MS, Promise.all(members.map(({ ended }) => ended))).catch(() => {});
    await this.#kill();
  }

  async #kill(): Promise<void> {
    this.#isEnding = true;
    const members = [...this.#members.values()];
    for (const { worker } of members) killNow(worker);
    await Promise.all(members.map(({ ended }) => ended));
  }

  #listening(): readonly Member[] {
    return [...this.#members.values()].filter(({ isListening }) => isListening);
  }

  async #startOne(): Promise<{ readonly id: number; readonly listening: Listening }> {
    const { options, size } = this.#options;
    const isFirst = this.#members.size === 0 && !this.#isStarted;
    const member = this.#member(cluster.fork());
    const { id, channel, worker } = member;
    const start = { options, tls: this.#tls, found: this.#found, id, size, isFirst, isReplacement: this.#isStarted };
    try {
      const listening = (await channel.ask({ verb: 'start', start } satisfies ToWorker)) as Listening;
      member.isListening = true;
      return { id, listening };
    } catch (error) {
      member.cause ??= (error as Error).message;
      killNow(worker);
      throw error;
    }
  }

  #member(worker: Worker): Member {
    // Before it listens to messages, Node would throw them away.
    let early: object[] | undefined = [];
    const send = (message: object): void => {
      if (early !== undefined) early.push(message);
      // Whoever is gone has no use for it, and its end is heard of below.
      else if (worker.isConnected()) worker.send(message, () => {});
    };
    const { promise: ended, resolve } = deferred();
    const member: Member = {
      ...{ id: worker.id, worker, ended, isListening: false, counts: undefined, cause: undefined },
      channel: new Channel<ToPrimary>(send, (question) => this.#answer(member, question)),
    };
    this.#members.set(member.id, member);
    worker.on('message', (message) => {
      const waiting = early ?? [];
      early = undefined;
      for (const each of waiting) send(each);
      member.channel.receive(message);
    });
    worker.on('error', () => {});
    worker.on('exit', (code, signal) => {
      this.#ended(member, code, signal);
      resolve();
    });
    return member;
  }

  #answer(member: Member, question: ToPrimary): unknown {
    switch (question.verb) {
      case 'hello':
        return undefined;
      case 'gather':
        return this.gather(question.seconds);
      case 'pass':
        return this.#pass(question.to, question.question);
      case 'pass-to-others':
        return this.#passToOthers(member, question.question);
      case 'counted':
        member.counts = question.counts;
        return undefined;
      case 'crashed':
        member.cause = question.cause;
        return undefined;
      case 'failed':
        this.#fail(new Error(question.message));
        return undefined;
    }
  }

  /** The lab lives in the oldest worker. */
  async #pass(to: number | 'lab', question: ToWorker): Promise<{ readonly answer: unknown } | undefined> {
    const member = to === 'lab' ? this.#listening()[0] : this.#members.get(to);
    return member && { answer: await member.channel.ask(question, PASS_MS) };
  }

  async #passToOthers(from: Member, question: ToWorker): Promise<void> {
    const others = this.#listening().filter((member) => member !== from);
    await Promise.allSettled(others.map(({ channel }) => channel.ask(question, FORGET_MS)));
  }

  async #reportOf(member: Member, seconds: number): Promise<Report | undefined> {
    try {
      const report = (await member.channel.ask({ verb: 'report', seconds } satisfies ToWorker, REPORT_MS)) as Report;
      member.counts = report.counts;
      return report;
    } catch {
      return undefined;
    }
  }

  /** One that dies meanwhile has no say. */
  async #looked({ id, channel }: Member, found: FoundFiles): Promise<string | undefined> {
    try {
      await channel.ask({ verb: 'prepare', found } satisfies ToWorker, PREPARE_MS);
      return undefined;
    } catch (error) {
      if (!this.#members.has(id)) return undefined;
      const { message } = error as Error;
      return error instanceof NoAnswer ? `worker ${id} did not look at it: ${message}` : `worker ${id}: ${message}`;
    }
  }

  #ended(member: Member, code: number | null, signal: string | null): void {
    const { id, worker, counts, channel } = member;
    this.#members.delete(id);
    if (counts !== undefined) this.#retired = this.#retired === undefined ? counts : sum(this.#retired, counts);
    const cause = member.cause ?? (signal === null ? `exit code ${code}` : `signal ${signal}`);
    channel.close(new NoAnswer(`a worker ended before it listened: ${cause}`));
    if (this.#isEnding || !this.#isStarted) return;
    this.#options.log.error('a worker ended', { worker: id, pid: pidOf(worker), cause });
    if (this.#deaths.add()) {
      const message = `${MOST_DEATHS} workers ended within a minute, the last one because of: ${cause}. The server ends, because another one would end too.`;
      this.#fail(new Error(message));
    } else void this.#replace(id);
  }

  async #replace(dead: number): Promise<void> {
    try {
      const { id, listening } = await this.#startOne();
      // With --port 0 a port is only known as long as one worker has it.
      if (listening.url === this.#address)
        this.#options.log.info('another worker has taken its place', { worker: id, instead: dead });
      else
        this.#fail(
          new Error(`All workers ended, and with them the port of ${this.#address}, which --port 0 had chosen.`),
        );
    } catch (error) {
      this.#options.log.error('the worker that should replace it did not start', {
        error: (error as Error).message,
      });
    }
  }
}

function killNow({ process: child }: Worker): void {
  child.kill('SIGKILL');
}

function pidOf({ process: child }: Worker): number | undefined {
  return child.pid;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
