/** `sluice serve`: the service as a process, or as several. */
import { once } from 'node:events';
import type { MaybePromise } from 'sluice/store';
import { type Config, EMPTY_CONFIG, needsGrpc } from '../config/config.ts';
import type { TlsFiles } from '../files/tls.ts';
import { type FoundFiles, loadConfig } from '../service/load-config.ts';
import { jsonLog, type Log } from '../service/log.ts';
import { Metrics } from '../service/metrics.ts';
import type { Service } from '../service/service.ts';
import { type Watch, watchConfig } from '../service/watch-config.ts';
import { certificateEnd, watchTls } from '../service/watch-tls.ts';
import type { Applied, Listening } from '../workers/questions.ts';
import type { Command } from './command.ts';
import { freeSocket } from './free-socket.ts';
import { greetingJson, greetingText } from './greeting.ts';
import { REDIS_HELP } from './redis-flags.ts';
import { grpcLater, type OpenGrpc, openServing, urlHost } from './serve-here.ts';
import { readOptions, SERVE_FLAGS, type ServeOptions } from './serve-options.ts';
import { EXIT } from './terminal.ts';
import { unknownVariables } from './variables.ts';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serves limits over HTTP, and over gRPC to Envoy.',
  help: `Usage: sluice serve [--config FILE]... [--redis ADDRESS] [--port 8080] [--grpc-port 8081] [--host 127.0.0.1]

  --config PATH       policies and rules: a file, or a folder of *.yaml; may be repeated, and all of them form one config;
                      read again when they change (SLUICE_CONFIG; separate several as in PATH)
  --redis ADDRESS     where to keep the state; by default in this process (SLUICE_REDIS, or else REDIS_URL)
                        memory                                           in this process, whatever REDIS_URL says
                        redis://user:password@host:6379/0                one server; rediss:// with TLS
                        redis+cluster://one:6379,two:6379                a cluster, by some of its nodes
                        redis+sentinel://one:26379,two:26379/name        the master that the sentinels know by this name
${REDIS_HELP}
  --require-redis     exits with code 3 if Redis does not answer within 5 s; without this flag, the server waits for Redis and
                      is not ready (/readyz is 503) until Redis has answered once (SLUICE_REQUIRE_REDIS)
  --deadline TIME     how long to wait for an answer of Redis; 2s by default, and 15ms for gRPC clients that wait less than
                      300ms themselves, such as Envoy. Redis counts as away when no answer at all has come for 250ms
                      (SLUICE_DEADLINE)
  --fallback WHO      who answers when Redis does not: local (this process), allow (fail open) or deny (fail closed);
                      local by default (SLUICE_FALLBACK)
  --max-keys N        the most states this process keeps, without Redis; a million by default (SLUICE_MAX_KEYS)
  --port, --host      where to listen; 8080 on 127.0.0.1 by default (SLUICE_PORT, SLUICE_HOST)
  --allowed-hosts NAMES   host names that requests may use, besides addresses, localhost and names without a dot: NAME, *.NAME
                      or *, separated by commas; with TLS all names are allowed (SLUICE_ALLOWED_HOSTS)
  --grpc-port         the port for Envoy; 8081 by default when a file has a domain, otherwise none (SLUICE_GRPC_PORT)
  --socket PATH, --grpc-socket PATH   Unix sockets instead of the ports (SLUICE_SOCKET, SLUICE_GRPC_SOCKET)
  --grpc-max-connection-age TIME, --grpc-max-connection-age-grace TIME   when a gRPC connection is closed, give or
                      take a tenth, and how long the calls under way may still take then, so that clients find new
                      servers behind a load balancer; 24h and 1m by default (SLUICE_GRPC_MAX_CONNECTION_AGE,
                      SLUICE_GRPC_MAX_CONNECTION_AGE_GRACE)
  --grpc-max-concurrent-requests N   the most calls that a process answers at the same time; more get
                      RESOURCE_EXHAUSTED; no limit by default (SLUICE_GRPC_MAX_CONCURRENT_REQUESTS)
  --tls-cert, --tls-key   PEM files, to serve both ports over TLS; read again when they change (SLUICE_TLS_CERT, SLUICE_TLS_KEY)
  --tls-client-ca FILE    accepts only clients with a certificate of this authority (SLUICE_TLS_CLIENT_CA)
  --envoy-denied HOW  what a denied request of Envoy costs: free (nothing), or spend, as with envoyproxy/ratelimit;
                      free by default (SLUICE_ENVOY_DENIED)
  --envoy-negative-hits WHO  who may give hits back with is_negative_hits: token (with --token, clients that send it, as for
                      refund; without --token, everyone), allow (everyone who may ask) or refuse (nobody); token by
                      default (SLUICE_ENVOY_NEGATIVE_HITS)
  --token SECRET      a bearer token; safer in the environment, where other users do not see it (SLUICE_TOKEN)
  --protect WHAT      what needs the token: changes (refund, penalize, reset, block, unblock; and /v1/live and /v1/history,
                      which show the keys of others), or everything except health checks and the page of the lab;
                      changes by default (SLUICE_PROTECT)
  --workers N         how many processes answer on the port: a number, or auto: one per core, at most 8. The default is auto
                      with Redis and 1 without (SLUICE_WORKERS)
  --log-requests      logs a line for each request (SLUICE_LOG_REQUESTS)
  --log-keys          allows keys of exceptions in the log (SLUICE_LOG_KEYS)
  --record FILE       writes every attempt (time, policy, key, cost) to a file that sluice backtest reads; a full file is
                      renamed to FILE.1, and so on (SLUICE_RECORD)
  --record-size MB, --record-files N   the largest size of a file, and how many older files to keep; 100 and 4 by default
                      (SLUICE_RECORD_SIZE, SLUICE_RECORD_FILES)
  --record-keys HOW   plain, or hash, so that nobody can read the keys; plain by default (SLUICE_RECORD_KEYS)
  --otlp URL          sends traces to an OpenTelemetry collector, as OTLP over HTTP: http://localhost:4318. The variables
                      OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_BSP_*
                      apply (OTEL_EXPORTER_OTLP_ENDPOINT)
  --statsd HOST:PORT  sends counts to statsd over UDP every second (SLUICE_STATSD)
  --statsd-tags       uses DogStatsD tags instead of long names (SLUICE_STATSD_TAGS)
  --no-lab            turns the lab off: no page at /, and nothing under /api (SLUICE_NO_LAB)
  --json              prints as JSON where it listens and what it limits

On SIGTERM and SIGINT it accepts no new requests, finishes those under way and exits. On SIGHUP it reads the config and the
certificate again. By default it listens on this machine only: set a token before you use --host 0.0.0.0.

Examples:
  sluice serve
  sluice serve --config policies.yaml --redis redis://localhost:6379
  SLUICE_TOKEN=secret sluice serve --config policies.yaml --host 0.0.0.0 --protect everything`,
  flags: SERVE_FLAGS,
  async run(flags, terminal) {
    const options = await readOptions(flags, terminal);
    const log = jsonLog((line) => terminal.error(line));
    const { paths } = options;
    for (const sentence of [
      ...unknownVariables(terminal.environment),
      ...whatIsOpen(options),
      ...(options.traces?.warnings ?? []),
    ])
      log.warn(sentence);
    const loaded =
      paths.length === 0 ? { config: EMPTY_CONFIG, found: undefined } : await loadConfig(paths, terminal.environment);
    for (const path of [options.socket, options.grpcSocket]) if (path !== undefined) await freeSocket(path);
    const serving = { options, log, ...loaded };
    const start = options.workers === 1 ? startHere : startWorkers;
    const started = await start(serving);
    const { listening, failed, reactions, drain } = started;
    const { environment } = terminal;
    const watches = [
      loaded.found && watchConfig({ paths, found: loaded.found, environment, ...reactions }),
      watchCertificate(options, started, log),
    ].filter((watch) => watch !== undefined);
    const signal = ended(watches);
    // Whoever has read it may send a signal.
    terminal.out((options.json ? greetingJson : greetingText)({ ...listening, config: loaded.config }));
    const failure = await Promise.race([signal, failed]).catch((error: Error) => error);
    if (failure !== undefined) log.error(failure.message);
    log.info('draining');
    for (const watch of watches) watch.stop();
    await drain(DRAIN_TIMEOUT_MS);
    log.info('ended');
    return failure === undefined ? EXIT.ok : EXIT.failed;
  },
};

const DRAIN_TIMEOUT_MS = 10_000;
const NEVER = new Promise<never>(() => {});

interface Serving {
  readonly options: ServeOptions;
  readonly log: Log;
  readonly config: Config;
  readonly found: FoundFiles | undefined;
}

/** A server that listens. */
interface Started {
  readonly listening: Listening;
  /** Rejects when it cannot go on. */
  readonly failed: Promise<never>;
  readonly reactions: Pick<Parameters<typeof watchConfig>[0], 'onChange' | 'onProblems'>;
  /** What counts what happens once, however many workers there are. */
  readonly metrics: Metrics;
  useCertificate(tls: TlsFiles): MaybePromise<void>;
  drain(timeoutMs: number): Promise<void>;
}

/** In this process. */
async function startHere({ options, log, config, found }: Serving): Promise<Started> {
  const metrics = new Metrics();
  if (found !== undefined) metrics.envoy.loaded();
  const { service, store, lab, listening, openGrpc, endTelemetry } = await openServing(options, {
    config: () => config,
    metrics,
    log,
  });
  return {
    listening,
    failed: store.failed ?? NEVER,
    metrics,
    useCertificate: (tls) => service.useCertificate(tls),
    reactions: reactionsOf(service, metrics, log, listening.grpc === undefined ? openGrpc : undefined),
    async drain(timeoutMs) {
      await service.drain(timeoutMs);
      lab?.close();
      await endTelemetry();
    },
  };
}

/** In workers. What that takes is loaded by those who want it. */
async function startWorkers({ options, log, found }: Serving): Promise<Started> {
  const [{ Pool }, { WORKER_FILE }] = await Promise.all([import('../workers/pool.ts'), import('./worker-file.ts')]);
  const pool = new Pool({ file: WORKER_FILE, size: options.workers, options, found, log });
  if (found !== undefined) pool.metrics.envoy.loaded();
  const listening = await pool.start();
  let lastText = '';
  return {
    listening,
    failed: pool.failed,
    metrics: pool.metrics,
    useCertificate: (tls) => pool.useCertificate(tls),
    reactions: {
      async onChange(changed, changedFiles) {
        const { problems, applied } = await pool.replaceConfig(changedFiles);
        const text = problems.join('\n');
        const isNews = text !== lastText;
        lastText = text;
        if (problems.length > 0) {
          if (isNews) refuseConfig(pool.metrics, log, problems, ' in all workers; it is tried again');
          return false;
        }
        pool.metrics.reloaded('applied');
        logChange(log, changed);
        logGrpc(log, applied);
        return true;
      },
      onProblems: (lines) => refuseConfig(pool.metrics, log, lines),
    },
    drain: (timeoutMs) => pool.drain(timeoutMs),
  };
}

/** Undefined without TLS. */
function watchCertificate({ tls, tlsPaths: paths }: ServeOptions, started: Started, log: Log): Watch | undefined {
  if (tls === undefined || paths === undefined) return undefined;
  const { metrics } = started;
  return watchTls({
    ...{ paths, tls },
    async onChange(changed) {
      await started.useCertificate(changed);
      metrics.certificateChanged('applied');
      const ends = new Date(certificateEnd(changed) * 1e3).toISOString();
      log.info('new connections use the changed certificate', { ends });
    },
    onProblem(problem) {
      metrics.certificateChanged('rejected');
      log.error('the changed certificate is not used, the old one stays in use', { problem });
    },
  });
}

/** Said at the start, because nothing else would say it before somebody else does. */
function whatIsOpen({ host, port, token, tls }: ServeOptions): readonly string[] {
  const isLocal = /^(?:127\.[\d.]+|::1|localhost)$/.test(host);
  if (isLocal || token !== undefined || tls?.clientCa !== undefined) return [];
  return [
    `There is no token: everyone who reaches ${urlHost(host)}:${port} may ask, and may refund, penalize, reset and block any key, and see ` +
      'the keys of others. Set SLUICE_TOKEN, or make sure that only this machine reaches the port (docker run -p 127.0.0.1:8080:8080).',
  ];
}

/** `openGrpc` for a first domain that comes later, where gRPC is not served yet. */
function reactionsOf(
  service: Service,
  metrics: Metrics,
  log: Log,
  openGrpc: OpenGrpc | undefined,
): Started['reactions'] {
  const openLater = grpcLater(openGrpc);
  return {
    onChange(config) {
      service.limits.replace(config);
      metrics.reloaded('applied');
      logChange(log, config);
      if (needsGrpc(config)) void openLater().then((applied) => logGrpc(log, applied));
      return true;
    },
    onProblems: (lines) => refuseConfig(metrics, log, lines),
  };
}

function logChange(log: Log, { policies, rules, envoy }: Config): void {
  log.info('the config has changed', { policies: policies.size, rules: rules.length, domains: envoy?.size ?? 0 });
}

function logGrpc(log: Log, { opened, problem }: Applied): void {
  if (opened !== undefined) log.info('Envoy can now ask over gRPC', { grpc: opened });
  if (problem !== undefined) {
    log.error('Envoy can ask only at /json until the config changes again', { error: problem });
  }
}

function refuseConfig(metrics: Metrics, log: Log, problems: readonly string[], where = ''): void {
  metrics.reloaded('rejected');
  log.error(`the changed config is not used, the old one stays in force${where}`, { problems });
}

async function ended(watches: readonly Watch[]): Promise<void> {
  const reload = (): void => {
    for (const watch of watches) void watch.reload();
  };
  process.on('SIGHUP', reload);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  process.off('SIGHUP', reload);
}
