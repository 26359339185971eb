/** A server in this process: store, lab, service and ports. The command has one, and so has each of its workers. */
import { type Config, needsGrpc } from '../config/config.ts';
import { type Lab, openLab } from '../lab/lab.ts';
import { findPage } from '../lab/page.ts';
import { type Recorder, recorder } from '../log-files/recorder.ts';
import type { Crew } from '../service/crew.ts';
import { errorText, type Log } from '../service/log.ts';
import { type Metrics, VERSION } from '../service/metrics.ts';
import { type OpenStore, openStore, type StoreOptions } from '../service/open-store.ts';
import { type Beside, createService, type Service } from '../service/service.ts';
import { statsdMetrics } from '../service/statsd-metrics.ts';
import { SpanExporter } from '../telemetry/span-exporter.ts';
import { startStatsd } from '../telemetry/statsd.ts';
import type { TraceSettings } from '../telemetry/trace-settings.ts';
import { createTracer, type Tracer } from '../telemetry/tracer.ts';
import type { Applied, Listening } from '../workers/questions.ts';
import type { ServeOptions } from './serve-options.ts';

/** What is around it. */
export interface Surroundings {
  /** Asked when the service is made: another one may have come meanwhile. */
  config(): Config;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Default: no other process answers on the port. */
  readonly crew?: Crew | undefined;
  /** Of the store, beside the options of the command. */
  readonly storeOptions?: Partial<StoreOptions> | undefined;
  /** How the lab is served. Default: by this process. */
  readonly beside?: ((lab: Lab) => Beside) | undefined;
}

export interface ServingHere {
  readonly service: Service;
  readonly store: OpenStore;
  readonly lab: Lab | undefined;
  readonly listening: Listening;
  readonly openGrpc: OpenGrpc;
  /** Writes what is left to record, and sends what is left to tell. */
  endTelemetry(): Promise<void>;
}

/** Rejects with a sentence. */
export async function openServing(options: ServeOptions, around: Surroundings): Promise<ServingHere> {
  const { metrics, log, crew, storeOptions, beside = (lab) => lab } = around;
  const record = options.record && recorder({ ...options.record, onProblem: (message) => log.error(message) });
  const tracing = options.traces && openTracing(options.traces, log);
  const store = traced(
    recorded(await openStore({ ...options, ...storeOptions }, metrics, log), record),
    options,
    tracing,
  );
  const lab = options.hasLab ? await openLab({ ...options, page: await findPage() }, log) : undefined;
  const config = around.config();
  const service = createService({
    ...options,
    config,
    store,
    metrics,
    log,
    crew,
    tracer: tracing?.tracer,
    beside: lab && beside(lab),
  });
  const openGrpc = grpcOpener(service, options);
  const opening = listenHttp(service, options).then(async (url) => ({
    url,
    grpc:
      needsGrpc(config) || options.grpcPort !== undefined || options.grpcSocket !== undefined
        ? await openGrpc()
        : undefined,
  }));
  const addresses = await opening.catch(async (error) => {
    lab?.close();
    await service.drain(0);
    throw listenError(error, options);
  });
  const listening = { ...addresses, store: store.description, hasLab: lab?.hasPage === true };
  const statsd =
    options.statsd &&
    startStatsd(
      options.statsd,
      async () => statsdMetrics(await service.report(0)),
      (error) => log.warn('statsd cannot be reached', { error: errorText(error) }),
    );
  const endTelemetry = async (): Promise<void> => {
    await Promise.all([record?.close(), tracing?.exporter.close(), statsd?.close()]);
  };
  return { service, store, lab, listening, openGrpc, endTelemetry };
}

interface Tracing {
  readonly tracer: Tracer;
  readonly exporter: SpanExporter;
}

function openTracing(settings: TraceSettings, log: Log): Tracing {
  const exporter = new SpanExporter(settings, VERSION, {
    onProblem: (message, fields) => log.warn(message, fields),
    onDelivered: (message, fields) => log.info(message, fields),
  });
  return { exporter, tracer: createTracer(settings.sampling, (span) => exporter.add(span)) };
}

function traced(open: OpenStore, { redis }: ServeOptions, tracing: Tracing | undefined): OpenStore {
  if (tracing === undefined) return open;
  return bothWays(open, (store) => tracing.tracer.traced(store, redis === undefined ? undefined : 'redis'));
}

/** Resolves to where it is. */
async function listenHttp(service: Service, { port, host, socket, tls }: ServeOptions): Promise<string> {
  const scheme = tls === undefined ? 'http' : 'https';
  if (socket === undefined) return `${scheme}://${urlHost(host)}:${(await service.listen(port, host)).port}`;
  await service.listenAt(socket);
  return `${scheme}+unix://${socket}`;
}

/** Outermost: what is recorded is what came. */
function recorded(open: OpenStore, record: Recorder | undefined): OpenStore {
  return record === undefined ? open : bothWays(open, record.layer);
}

function bothWays(open: OpenStore, layer: (store: OpenStore['store']) => OpenStore['store']): OpenStore {
  const store = layer(open.store);
  return { ...open, store, hurried: open.hurried && open.hurried !== open.store ? layer(open.hurried) : store };
}

const LISTEN_ERRORS: Readonly<Record<string, (options: ServeOptions) => string>> = {
  EADDRINUSE: ({ port, host, socket }) =>
    socket !== undefined
      ? `The socket ${socket} is taken by another program (EADDRINUSE). Choose another path with --socket.`
      : `Port ${port} of ${host} is taken by another program (EADDRINUSE). Choose another one with --port, or 0 for any that is free.`,
  EACCES: ({ port }) => `Port ${port} needs root privileges (EACCES). Choose one above 1023 with --port.`,
  EADDRNOTAVAIL: ({ host }) => `This machine has no address ${host} (EADDRNOTAVAIL). Choose another one with --host.`,
  ENOTFOUND: ({ host }) =>
    `The host name ${host} is not known (ENOTFOUND). Choose an address of this machine with --host.`,
};

function listenError(error: NodeJS.ErrnoException, options: ServeOptions): Error {
  const say = error.code === undefined ? undefined : LISTEN_ERRORS[error.code];
  return say === undefined ? error : new Error(say(options));
}

export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The reference server's. */
const GRPC_PORT = 8081;

/** Resolves to where it listens. */
export type OpenGrpc = () => Promise<string>;

function grpcOpener(service: Service, { grpcPort, grpcSocket, host }: ServeOptions): OpenGrpc {
  return async () => {
    if (grpcSocket === undefined) return `${urlHost(host)}:${await service.listenGrpc(grpcPort ?? GRPC_PORT, host)}`;
    await service.listenGrpcAt(grpcSocket);
    return `unix:${grpcSocket}`;
  };
}

/** Opens gRPC once, with the first domain; where that fails, with the next change. Undefined: it is open. */
export function grpcLater(openGrpc: OpenGrpc | undefined): () => Promise<Applied> {
  let open = openGrpc;
  return async () => {
    const opening = open;
    if (opening === undefined) return {};
    open = undefined;
    try {
      return { opened: await opening() };
    } catch (error) {
      open = opening;
      return { problem: errorText(error) };
    }
  };
}
