/** One of several processes that serve: it has a store, a lab and a service of its own, and a channel to the process that started it. */
import cluster from 'node:cluster';
import { type Config, EMPTY_CONFIG, needsGrpc } from '../config/config.ts';
import { problemText } from '../files/problem.ts';
import type { TlsFiles } from '../files/tls.ts';
import type { Answer } from '../service/answer.ts';
import type { Crew, Gathered } from '../service/crew.ts';
import { HttpError, toHttpError } from '../service/http-error.ts';
import { commonOriginMs, Live } from '../service/live.ts';
import { configOf, type FoundFiles } from '../service/load-config.ts';
import { errorText, jsonLog, type Log, type LogFields } from '../service/log.ts';
import { Metrics } from '../service/metrics.ts';
import { Channel } from '../workers/channel.ts';
import { answerPassed, passedOn } from '../workers/lab.ts';
import type { Applied, Listening, Passed, Start, ToPrimary, ToWorker } from '../workers/questions.ts';
import { grpcLater, openServing, type ServingHere } from './serve-here.ts';
import type { ServeOptions } from './serve-options.ts';
import { endProcess, processTerminal } from './terminal.ts';

/** Longer than the primary waits for each worker. */
const GATHER_MS = 2000;
const COUNTED_EVERY_MS = 1000;

/** Runs until the primary says that it is over, or is gone. */
export function work(): void {
  const wire = cluster.worker!;
  const worker = new ServingWorker((message) => {
    if (wire.isConnected()) wire.send(message, () => {});
  });
  wire.on('message', (message) => worker.channel.receive(message));
  worker.hello();
  // A terminal and systemd signal all processes of a group: the primary decides what that means.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  process.on('uncaughtException', (error) => {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const end = (): void => endProcess(1);
    if (wire.isConnected()) wire.send({ asks: 0, value: { verb: 'crashed', cause } satisfies ToPrimary }, end);
    else end();
  });
}

class ServingWorker {
  readonly channel: Channel<ToWorker>;
  readonly #metrics = new Metrics(new Live(undefined, commonOriginMs()));
  #config: Config = EMPTY_CONFIG;
  /** What was looked at last. */
  #prepared: { readonly text: string; readonly config: Config } | undefined;
  #serving: ServingHere | undefined;
  #tls: TlsFiles | undefined;
  #openGrpc: () => Promise<Applied> = async () => ({});
  #log: Log = jsonLog((line) => processTerminal.error(line));
  #timer: NodeJS.Timeout | undefined;
  #end: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(send: (message: object) => void) {
    this.channel = new Channel<ToWorker>(send, (question) => this.#answer(question));
  }

  hello(): void {
    this.#tell({ verb: 'hello' });
  }

  async #answer(question: ToWorker): Promise<unknown> {
    switch (question.verb) {
      case 'start':
        return this.#start(question.start as Start<ServeOptions>);
      case 'report':
        return this.#here().service.report(question.seconds);
      case 'prepare':
        this.#prepare(question.found);
        return undefined;
      case 'apply':
        return this.#apply(question.found);
      case 'use-certificate':
        return this.#useCertificate(question.tls);
      case 'drain':
        return this.#drain(question.timeoutMs);
      case 'end':
        return this.#end();
      default:
        return this.#help(question).catch((error) => {
          throw this.#told(error);
        });
    }
  }

  /** What another worker asks. */
  async #help(question: Passed): Promise<unknown> {
    const { service, store, lab } = this.#here();
    switch (question.verb) {
      case 'forget-denials':
        return store.forgetDenials?.(question.keys);
      case 'lab':
        return answerPassed(lab?.routes ?? [], service, question.request);
    }
  }

  /** Who asked tells the caller; what is ours is in the log here. */
  #told(error: unknown): HttpError {
    const told = toHttpError(error);
    if (!(error instanceof HttpError) && told.status >= 500) {
      this.#log.error('a request failed', { status: told.status, error: errorText(error) });
    }
    return told;
  }

  #here(): ServingHere {
    if (this.#serving === undefined) throw new Error('this worker has not started yet');
    return this.#serving;
  }

  /** One that comes while this starts is taken when it has. */
  #useCertificate(tls: TlsFiles): void {
    this.#tls = tls;
    this.#serving?.service.useCertificate(tls);
  }

  async #start({ options, tls, found, id, size, isFirst, isReplacement }: Start<ServeOptions>): Promise<Listening> {
    this.#log = numbered(this.#log, id);
    if (found !== undefined) this.#config = this.#prepare(found);
    const serving = await openServing(options, {
      config: () => this.#config,
      metrics: this.#metrics,
      // What is wrong at the start is wrong for all, and one of them says so.
      log: isFirst || isReplacement ? this.#log : afterStart(this.#log, () => this.#serving !== undefined),
      crew: this.#crew(id, size),
      storeOptions: {
        fallbackShare: 1 / size,
        onFreed: (keys) => this.#tellOthers({ verb: 'forget-denials', keys }),
        ...(isReplacement ? { requireRedis: false } : {}),
      },
      beside: ({ routes, paths }) => ({ paths, routes: passedOn(routes, (request) => this.#toLab(request)) }),
    });
    this.#serving = serving;
    this.#openGrpc = grpcLater(serving.listening.grpc === undefined ? serving.openGrpc : undefined);
    serving.store.failed?.catch((error: Error) => this.#tell({ verb: 'failed', message: error.message }));
    this.#timer = setInterval(() => this.#tellCounts(), COUNTED_EVERY_MS).unref();
    // A config may have come while it started.
    serving.service.limits.replace(this.#config);
    const certificate = this.#tls ?? tls;
    if (certificate !== undefined) serving.service.useCertificate(certificate);
    return serving.listening;
  }

  #prepare(found: FoundFiles): Config {
    const text = JSON.stringify(found);
    if (this.#prepared?.text === text) return this.#prepared.config;
    const { config, problems } = configOf(found, processTerminal.environment);
    if (config === undefined) throw new Error(problems.map(problemText).join('; '));
    this.#prepared = { text, config };
    return config;
  }

  async #apply(found: FoundFiles): Promise<Applied> {
    this.#config = this.#prepare(found);
    this.#serving?.service.limits.replace(this.#config);
    return needsGrpc(this.#config) ? this.#openGrpc() : {};
  }

  /** Answered when nothing is left; the store stays open until nobody needs it. */
  #drain(timeoutMs: number): Promise<void> {
    const { service, lab, endTelemetry } = this.#here();
    return new Promise((resolve) => {
      const drained = service.drain(timeoutMs, () => {
        resolve();
        return this.#ended;
      });
      void drained.then(async () => {
        clearInterval(this.#timer);
        lab?.close();
        await endTelemetry();
        cluster.worker?.disconnect();
      });
    });
  }

  #crew(id: number, size: number): Crew {
    return {
      ...{ id, size },
      gather: async (seconds, own) => {
        const gathered = await this.#ask({ verb: 'gather', seconds }, GATHER_MS).catch(() => undefined);
        if (gathered !== undefined && (gathered as Gathered).reports.length > 0) return gathered as Gathered;
        const report = await own();
        const others = Array.from({ length: size }, (_, index) => index + 1).filter((other) => other !== id);
        return { counts: report.counts, reports: [report], workers: { count: size, silent: others } };
      },
    };
  }

  async #toLab(request: Extract<Passed, { verb: 'lab' }>['request']): Promise<Answer> {
    const answer = await this.#pass('lab', { verb: 'lab', request });
    if (answer === undefined) throw unavailable();
    return answer as Answer;
  }

  /** Undefined when that worker is gone. */
  async #pass(to: number | 'lab', question: Passed): Promise<unknown> {
    try {
      const passed = (await this.#ask({ verb: 'pass', to, question })) as { readonly answer: unknown } | undefined;
      return passed?.answer;
    } catch (error) {
      throw error instanceof HttpError ? error : unavailable();
    }
  }

  async #tellOthers(question: Passed): Promise<void> {
    await this.#ask({ verb: 'pass-to-others', question }).catch(() => {});
  }

  #tellCounts(): void {
    this.#tell({ verb: 'counted', counts: this.#metrics.counts() });
  }

  #tell(question: ToPrimary): void {
    this.#ask(question).catch(() => {});
  }

  #ask(question: ToPrimary, timeoutMs?: number): Promise<unknown> {
    return this.channel.ask(question, timeoutMs);
  }
}

function unavailable(): HttpError {
  const message = 'The worker that has this does not answer. It may or may not have done what you asked.';
  return new HttpError(503, 'worker_unavailable', message, { headers: { 'Retry-After': '1' } });
}

/** Says who says it. */
function numbered(log: Log, worker: number): Log {
  const at =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}): void =>
      log[level](message, { worker, ...fields });
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

function afterStart(log: Log, isStarted: () => boolean): Log {
  const at =
    (level: keyof Log) =>
    (message: string, fields?: LogFields): void => {
      if (isStarted()) log[level](message, fields);
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
