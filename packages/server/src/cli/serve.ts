/** `sluice serve`: the service as a process. */
import { once } from 'node:events';
import type { Duration } from 'sluice';
import { deadline } from 'sluice/layers';
import { type Config, EMPTY_CONFIG } from '../config/config.ts';
import type { TlsFiles } from '../config/tls.ts';
import { type EnvoySettings, readSettings } from '../envoy/settings.ts';
import { openLab } from '../lab/lab.ts';
import { findPage } from '../lab/page.ts';
import { loadConfig } from '../service/load-config.ts';
import { errorText, jsonLog, type Log } from '../service/log.ts';
import { Metrics } from '../service/metrics.ts';
import { type Fallback, openStore } from '../service/open-store.ts';
import { createService, type Service } from '../service/service.ts';
import type { Protection } from '../service/token.ts';
import { type Watch, watchConfig } from '../service/watch-config.ts';
import { type Arguments, type Command, type Flags, oneOf, parseArguments, wholeNumber } from './command.ts';
import { greetingJson, greetingText } from './greeting.ts';
import { REDIS_FLAGS, REDIS_HELP, type RedisTarget, redisTarget } from './redis-flags.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';
import { TLS_FLAGS, tlsFiles } from './tls-flags.ts';

const FLAGS = {
  config: { type: 'string', multiple: true, variable: 'SLUICE_CONFIG' },
  ...REDIS_FLAGS,
  deadline: { type: 'string', variable: 'SLUICE_DEADLINE' },
  fallback: { type: 'string', variable: 'SLUICE_FALLBACK' },
  'max-keys': { type: 'string', variable: 'SLUICE_MAX_KEYS' },
  port: { type: 'string', variable: 'SLUICE_PORT' },
  'grpc-port': { type: 'string', variable: 'SLUICE_GRPC_PORT' },
  'envoy-denied': { type: 'string', variable: 'SLUICE_ENVOY_DENIED' },
  host: { type: 'string', variable: 'SLUICE_HOST' },
  ...TLS_FLAGS,
  token: { type: 'string', variable: 'SLUICE_TOKEN' },
  protect: { type: 'string', variable: 'SLUICE_PROTECT' },
  'log-requests': { type: 'boolean', variable: 'SLUICE_LOG_REQUESTS' },
  'no-lab': { type: 'boolean', variable: 'SLUICE_NO_LAB' },
  json: { type: 'boolean' },
} as const satisfies Flags;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serves limits over HTTP.',
  help: `Usage: sluice serve [--config FILE]... [--redis ADDRESS] [--port 8080] [--grpc-port 8081] [--host 127.0.0.1]

  --config PATH       policies and rules: a file, or a folder of *.yaml; may be repeated, and all of them are one config;
                      read again when they change (SLUICE_CONFIG, several as in PATH)
  --redis ADDRESS     where the state is kept; without it, in this process (SLUICE_REDIS)
                        redis://user:password@host:6379/0                one server; rediss:// with TLS
                        redis+cluster://one:6379,two:6379                a cluster, by some of its nodes
                        redis+sentinel://one:26379,two:26379/name        the master that sentinels know by this name
${REDIS_HELP}
  --deadline TIME     how long Redis may take to answer; 250ms by default, and 15ms for those who ask over gRPC and wait
                      less than 300ms themselves, as Envoy (SLUICE_DEADLINE)
  --fallback WHO      who answers when Redis does not: local (this process), allow or deny; local by default (SLUICE_FALLBACK)
  --max-keys N        how many states this process keeps at most, without Redis; a million by default (SLUICE_MAX_KEYS)
  --port, --host      where to listen; 8080 on 127.0.0.1 by default (SLUICE_PORT, SLUICE_HOST)
  --grpc-port         where Envoy asks; 8081 by default as soon as a file has a domain, else not at all (SLUICE_GRPC_PORT)
  --tls-cert, --tls-key   files in PEM: both ports speak TLS then (SLUICE_TLS_CERT, SLUICE_TLS_KEY)
  --tls-client-ca FILE    only clients with a certificate of this authority are let in (SLUICE_TLS_CLIENT_CA)
  --envoy-denied HOW  what a request of Envoy costs that is denied: free, or spend as with envoyproxy/ratelimit;
                      free by default (SLUICE_ENVOY_DENIED)
  --token SECRET      a bearer token; better in the environment, where others do not see it (SLUICE_TOKEN)
  --protect WHAT      what needs the token: changes (refund, reset, block, unblock; and /v1/live, which shows keys),
                      or everything but health checks and the page of the lab; changes by default (SLUICE_PROTECT)
  --log-requests      a line in the log for each request (SLUICE_LOG_REQUESTS)
  --no-lab            without the lab: no page at /, and nothing under /api (SLUICE_NO_LAB)
  --json              says as JSON where it listens and what it limits

SIGTERM and SIGINT: takes nothing new, finishes what it has, ends. SIGHUP: reads the config now.
It listens on this machine alone unless --host says otherwise: with --host 0.0.0.0 set a token.

Examples:
  sluice serve
  sluice serve --config policies.yaml --redis redis://localhost:6379
  SLUICE_TOKEN=secret sluice serve --config policies.yaml --host 0.0.0.0 --protect everything`,
  async run(args, terminal) {
    const options = await readOptions(parseArguments(args, FLAGS, terminal), terminal);
    const log = jsonLog((line) => terminal.error(line));
    const metrics = new Metrics();
    const { paths, host } = options;
    const { config, found } =
      paths.length === 0 ? { config: EMPTY_CONFIG, found: undefined } : await loadConfig(paths, terminal.environment);
    if (found !== undefined) metrics.envoy.loaded();
    const store = await openStore(options, metrics, log);
    const lab = options.hasLab ? await openLab({ ...options, page: await findPage() }, log) : undefined;
    const service = createService({ ...options, config, store, metrics, log, beside: lab });
    const openGrpc = grpcOpener(service, options);
    const listening = service.listen(options.port, host).then(async ({ port }) => ({
      url: `${options.tls === undefined ? 'http' : 'https'}://${urlHost(host)}:${port}`,
      grpc: config.envoy !== undefined || options.grpcPort !== undefined ? await openGrpc() : undefined,
    }));
    const addresses = await listening.catch(async (error) => {
      lab?.close();
      await service.drain(0);
      throw error;
    });
    const greet = options.json ? greetingJson : greetingText;
    terminal.out(greet({ ...addresses, store: store.description, config, hasLab: lab?.hasPage === true }));
    const reactions = reactionsOf(service, metrics, log, addresses.grpc === undefined ? openGrpc : undefined);
    const watch = found && watchConfig({ paths, found, environment: terminal.environment, ...reactions });
    await ended(watch);
    log.info('draining');
    watch?.stop();
    await service.drain(DRAIN_TIMEOUT_MS);
    lab?.close();
    log.info('ended');
    return EXIT.ok;
  },
};

const DRAIN_TIMEOUT_MS = 10_000;
/** The reference server's. */
const GRPC_PORT = 8081;

interface ServeOptions extends Partial<RedisTarget> {
  /** Files and folders of the config. */
  readonly paths: readonly string[];
  readonly deadline: Duration | undefined;
  readonly fallback: Fallback | undefined;
  readonly maxKeys: number | undefined;
  readonly port: number;
  readonly grpcPort: number | undefined;
  readonly envoy: EnvoySettings;
  readonly host: string;
  readonly tls: TlsFiles | undefined;
  readonly token: string | undefined;
  readonly protect: Protection | undefined;
  readonly logRequests: boolean;
  readonly hasLab: boolean;
  readonly json: boolean;
}

async function readOptions(flags: Arguments, { environment }: Terminal): Promise<ServeOptions> {
  if (flags.words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(flags.words[0])}`);
  const maxKeys = flags.text('max-keys');
  const grpcPort = flags.text('grpc-port');
  return {
    ...(await redisTarget(flags)),
    paths: flags.texts('config'),
    deadline: readDeadline(flags.text('deadline')),
    fallback: oneOf('fallback', flags.text('fallback'), ['local', 'allow', 'deny']),
    maxKeys: maxKeys === undefined ? undefined : wholeNumber('max-keys', maxKeys, [1, 1e9]),
    port: wholeNumber('port', flags.text('port') ?? '8080', [0, 65535]),
    grpcPort: grpcPort === undefined ? undefined : wholeNumber('grpc-port', grpcPort, [0, 65535]),
    envoy: envoySettings(flags, environment),
    host: flags.text('host') ?? '127.0.0.1',
    tls: await tlsFiles(flags),
    ...readProtection(flags, environment),
    logRequests: flags.has('log-requests'),
    hasLab: !flags.has('no-lab'),
    json: flags.has('json'),
  };
}

function envoySettings(flags: Arguments, environment: Terminal['environment']): EnvoySettings {
  try {
    const denied = oneOf('envoy-denied', flags.text('envoy-denied'), ['free', 'spend']);
    return { ...readSettings(environment), ...(denied === undefined ? {} : { denied }) };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readDeadline(text: string | undefined): Duration | undefined {
  try {
    deadline({ timeout: text as Duration | undefined });
  } catch (error) {
    throw new UsageError((error as Error).message.replace('deadline.timeout', '--deadline'));
  }
  return text as Duration | undefined;
}

/** What would be no protection and look like one is refused: an empty token, one that no header can hold, none at all. */
function readProtection(
  flags: Arguments,
  environment: Terminal['environment'],
): Pick<ServeOptions, 'token' | 'protect'> {
  const token = flags.text('token') ?? environment.SLUICE_TOKEN;
  if (token !== undefined && !/^[!-~]{1,1024}$/.test(token)) {
    throw new UsageError('--token: expected a text of ASCII without spaces that is not empty');
  }
  const protect = oneOf('protect', flags.text('protect'), ['changes', 'everything']);
  if (protect !== undefined && token === undefined) {
    throw new UsageError(`--protect ${protect}: expected --token beside it, got none`);
  }
  return { token, protect };
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Resolves to where it listens. */
type OpenGrpc = () => Promise<string>;

function grpcOpener(service: Service, { grpcPort, host }: ServeOptions): OpenGrpc {
  return async () => `${urlHost(host)}:${await service.listenGrpc(grpcPort ?? GRPC_PORT, host)}`;
}

/** `openGrpc` for a first domain that comes later, where gRPC is not served yet. */
function reactionsOf(service: Service, metrics: Metrics, log: Log, openGrpc: OpenGrpc | undefined) {
  let open = openGrpc;
  const openNow = async (): Promise<void> => {
    const opening = open;
    open = undefined;
    try {
      log.info('Envoy asks over gRPC from now on', { grpc: await opening!() });
    } catch (error) {
      log.error('Envoy can ask only at /json until the config changes again', { error: errorText(error) });
      open = opening;
    }
  };
  return {
    onChange(config: Config): void {
      const { policies, rules, envoy } = config;
      service.limits.replace(config);
      metrics.reloaded('applied');
      log.info('the config has changed', { policies: policies.size, rules: rules.length, domains: envoy?.size ?? 0 });
      if (envoy !== undefined && open !== undefined) void openNow();
    },
    onProblems(lines: readonly string[]): void {
      metrics.reloaded('rejected');
      log.error('the changed config is not used, the old one holds', { problems: lines });
    },
  };
}

async function ended(watch: Watch | undefined): Promise<void> {
  const reload = (): void => void watch?.reload();
  process.on('SIGHUP', reload);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  process.off('SIGHUP', reload);
}
