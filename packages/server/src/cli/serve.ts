/** `sluice serve`: the service as a process. */
import { once } from 'node:events';
import type { Duration } from 'sluice';
import { type Config, EMPTY_CONFIG } from '../config/config.ts';
import { policyText } from '../config/explain.ts';
import { type EnvoySettings, readSettings } from '../envoy/settings.ts';
import { openLab } from '../lab/lab.ts';
import { findPage } from '../lab/page.ts';
import { loadConfig } from '../service/load-config.ts';
import { jsonLog, type Log } from '../service/log.ts';
import { Metrics } from '../service/metrics.ts';
import { type Fallback, openStore } from '../service/open-store.ts';
import { createService, type Service } from '../service/service.ts';
import type { Protection } from '../service/token.ts';
import { type Watch, watchConfig } from '../service/watch-config.ts';
import { type Arguments, type Command, type Flags, oneOf, parseArguments, wholeNumber } from './command.ts';
import { REDIS_FLAGS, REDIS_HELP, type RedisTarget, redisTarget } from './redis-flags.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';

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
  --deadline TIME     how long Redis may take to answer; 50ms by default, 15ms with gRPC (SLUICE_DEADLINE)
  --fallback WHO      who answers when Redis does not: local (this process), allow or deny; local by default (SLUICE_FALLBACK)
  --max-keys N        how many states this process keeps at most, without Redis; a million by default (SLUICE_MAX_KEYS)
  --port, --host      where to listen; 8080 on 127.0.0.1 by default (SLUICE_PORT, SLUICE_HOST)
  --grpc-port         where Envoy asks; 8081 by default once a file has a domain, else not at all (SLUICE_GRPC_PORT)
  --envoy-denied HOW  what a request of Envoy costs that is denied: free, or spend as with envoyproxy/ratelimit;
                      free by default (SLUICE_ENVOY_DENIED)
  --token SECRET      a bearer token; better in the environment, where others do not see it (SLUICE_TOKEN)
  --protect WHAT      what needs the token: changes (refund, reset, block, unblock; and /v1/live, which shows keys),
                      or everything; changes by default (SLUICE_PROTECT)
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
    const { paths } = options;
    const { config, found } =
      paths.length === 0 ? { config: EMPTY_CONFIG, found: undefined } : await loadConfig(paths, terminal.environment);
    const isForEnvoy = config.envoy !== undefined || options.grpcPort !== undefined;
    const store = await openStore(
      isForEnvoy ? { ...options, deadline: options.deadline ?? ENVOY_DEADLINE } : options,
      metrics,
      log,
    );
    const lab = options.hasLab ? await openLab({ ...options, page: await findPage() }, log) : undefined;
    const service = createService({ ...options, config, store, metrics, log, beside: lab });
    const listening = service.listen(options.port, options.host).then(async ({ port }) => ({
      port,
      grpcPort: isForEnvoy ? await service.listenGrpc(options.grpcPort ?? GRPC_PORT, options.host) : undefined,
    }));
    const { port, grpcPort } = await listening.catch(async (error) => {
      lab?.close();
      await service.drain(0);
      throw error;
    });
    const url = `http://${urlHost(options.host)}:${port}`;
    const grpc = grpcPort === undefined ? undefined : `${urlHost(options.host)}:${grpcPort}`;
    const greet = options.json ? jsonGreeting : greeting;
    const labLine = lab?.hasPage && !options.json ? `\nThe lab: ${url}/` : '';
    terminal.out(greet(url, store.description, config, grpc) + labLine);
    const watch =
      found &&
      watchConfig({ paths, found, environment: terminal.environment, ...reactions(service, metrics, log, isForEnvoy) });
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
/** Envoy waits for 20 ms unless it is told otherwise: whoever answers in the place of Redis has to be in time for that. */
const ENVOY_DEADLINE = '15ms';

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
    deadline: flags.text('deadline') as Duration | undefined,
    fallback: oneOf('fallback', flags.text('fallback'), ['local', 'allow', 'deny']),
    maxKeys: maxKeys === undefined ? undefined : wholeNumber('max-keys', maxKeys, [1, 1e9]),
    port: wholeNumber('port', flags.text('port') ?? '8080', [0, 65535]),
    grpcPort: grpcPort === undefined ? undefined : wholeNumber('grpc-port', grpcPort, [0, 65535]),
    envoy: envoySettings(flags, environment),
    host: flags.text('host') ?? '127.0.0.1',
    token: readToken(flags.text('token') ?? environment.SLUICE_TOKEN),
    protect: oneOf('protect', flags.text('protect'), ['changes', 'everything']),
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

/** An empty one would be no protection that looks like one. */
function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^\S{1,1024}$/.test(token)) return token;
  throw new UsageError('--token: expected a text without spaces that is not empty');
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function greeting(url: string, where: string, { policies, rules, envoy }: Config, grpc?: string): string {
  const named = [...policies.values()].map(({ name, policy, shadow }) => {
    return `  ${name}: ${policyText(policy)}${shadow ? ' (shadow)' : ''}`;
  });
  const domains = [...(envoy?.values() ?? [])].map(({ name, file }) => `  the domain ${name} of ${file}`);
  const limits =
    named.length + domains.length === 0 ? ['  policies that come along with requests (no --config)'] : named;
  return [
    `Sluice listens on ${url}, its state is ${where}. It limits:`,
    ...limits,
    ...(rules.length === 0 ? [] : [`  by ${rules.length} rules at ${url}/v1/check`]),
    ...domains,
    ...(grpc === undefined ? [] : [`Envoy asks it over gRPC at ${grpc}, or at ${url}/json.`]),
  ].join('\n');
}

function jsonGreeting(url: string, where: string, { policies, rules, envoy }: Config, grpc?: string): string {
  const named = [...policies.values()].map(({ policy, shadow }) => ({ ...policy, shadow }));
  const domains = [...(envoy?.keys() ?? [])];
  return JSON.stringify({ url, grpc, store: where, policies: named, rules: rules.map(({ name }) => name), domains });
}

function reactions(service: Service, metrics: Metrics, log: Log, hasGrpc: boolean) {
  return {
    onChange(config: Config): void {
      service.limits.replace(config);
      metrics.reloaded('applied');
      log.info('the config has changed', { policies: config.policies.size, rules: config.rules.length });
      if (config.envoy !== undefined && !hasGrpc) {
        log.warn('there is a domain now, and no gRPC: start the server again, or with --grpc-port from the beginning');
      }
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
