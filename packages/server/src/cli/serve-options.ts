/** The flags of `sluice serve`, and what they say. */
import { availableParallelism } from 'node:os';
import { type Duration, parseDuration } from 'sluice';
import { deadline } from 'sluice/layers';
import { type EnvoySettings, readSettings } from '../envoy/settings.ts';
import type { ConnectionAge } from '../grpc/server.ts';
import type { RecorderOptions } from '../log-files/recorder.ts';
import type { Fallback } from '../service/open-store.ts';
import type { Protection } from '../service/token.ts';
import { parseStatsd, type StatsdSettings } from '../telemetry/statsd.ts';
import { readTraceSettings, type TraceSettings } from '../telemetry/trace-settings.ts';
import { type Arguments, type Flags, oneOf, wholeNumber } from './command.ts';
import { REDIS_FLAGS, type RedisTarget, redisTarget } from './redis-flags.ts';
import { type Terminal, UsageError } from './terminal.ts';
import { TLS_FLAGS, type TlsOptions, tlsOptions } from './tls-flags.ts';

export const SERVE_FLAGS = {
  config: { type: 'string', multiple: true, isFile: true, variable: 'SLUICE_CONFIG' },
  ...REDIS_FLAGS,
  'require-redis': { type: 'boolean', variable: 'SLUICE_REQUIRE_REDIS' },
  deadline: { type: 'string', variable: 'SLUICE_DEADLINE' },
  fallback: { type: 'string', values: ['local', 'allow', 'deny'], variable: 'SLUICE_FALLBACK' },
  'max-keys': { type: 'string', variable: 'SLUICE_MAX_KEYS' },
  port: { type: 'string', variable: 'SLUICE_PORT' },
  'grpc-port': { type: 'string', variable: 'SLUICE_GRPC_PORT' },
  socket: { type: 'string', variable: 'SLUICE_SOCKET' },
  'grpc-socket': { type: 'string', variable: 'SLUICE_GRPC_SOCKET' },
  'grpc-max-connection-age': { type: 'string', variable: 'SLUICE_GRPC_MAX_CONNECTION_AGE' },
  'grpc-max-connection-age-grace': { type: 'string', variable: 'SLUICE_GRPC_MAX_CONNECTION_AGE_GRACE' },
  'grpc-max-concurrent-requests': { type: 'string', variable: 'SLUICE_GRPC_MAX_CONCURRENT_REQUESTS' },
  'envoy-denied': { type: 'string', values: ['free', 'spend'], variable: 'SLUICE_ENVOY_DENIED' },
  'envoy-negative-hits': {
    type: 'string',
    values: ['token', 'allow', 'refuse'],
    variable: 'SLUICE_ENVOY_NEGATIVE_HITS',
  },
  host: { type: 'string', variable: 'SLUICE_HOST' },
  'allowed-hosts': { type: 'string', variable: 'SLUICE_ALLOWED_HOSTS' },
  ...TLS_FLAGS,
  token: { type: 'string', variable: 'SLUICE_TOKEN' },
  protect: { type: 'string', values: ['changes', 'everything'], variable: 'SLUICE_PROTECT' },
  workers: { type: 'string', variable: 'SLUICE_WORKERS' },
  'log-requests': { type: 'boolean', variable: 'SLUICE_LOG_REQUESTS' },
  'log-keys': { type: 'boolean', variable: 'SLUICE_LOG_KEYS' },
  'no-lab': { type: 'boolean', variable: 'SLUICE_NO_LAB' },
  record: { type: 'string', isFile: true, variable: 'SLUICE_RECORD' },
  'record-size': { type: 'string', variable: 'SLUICE_RECORD_SIZE' },
  'record-files': { type: 'string', variable: 'SLUICE_RECORD_FILES' },
  'record-keys': { type: 'string', values: ['plain', 'hash'], variable: 'SLUICE_RECORD_KEYS' },
  otlp: { type: 'string', variable: 'OTEL_EXPORTER_OTLP_ENDPOINT' },
  statsd: { type: 'string', variable: 'SLUICE_STATSD' },
  'statsd-tags': { type: 'boolean', variable: 'SLUICE_STATSD_TAGS' },
  json: { type: 'boolean' },
} as const satisfies Flags;

/** What the flags and variables of `serve` say. It is plain data, so that it can go to other processes. */
export interface ServeOptions extends Partial<RedisTarget>, TlsOptions {
  /** Files and folders of the config. */
  readonly paths: readonly string[];
  readonly requireRedis: boolean;
  readonly deadline: Duration | undefined;
  readonly fallback: Fallback | undefined;
  readonly maxKeys: number | undefined;
  readonly port: number;
  readonly grpcPort: number | undefined;
  /** Unix sockets, in place of the ports. */
  readonly socket: string | undefined;
  readonly grpcSocket: string | undefined;
  readonly grpc: { readonly connectionAge: ConnectionAge; readonly maxConcurrent: number | undefined };
  readonly envoy: EnvoySettings;
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly token: string | undefined;
  readonly protect: Protection | undefined;
  /** Processes that answer. With one there is no other. */
  readonly workers: number;
  readonly logRequests: boolean;
  readonly logKeys: boolean;
  readonly hasLab: boolean;
  /** Where attempts are recorded. */
  readonly record: RecordOptions | undefined;
  /** Where traces go. */
  readonly traces: TraceSettings | undefined;
  readonly statsd: StatsdSettings | undefined;
  readonly json: boolean;
}

export async function readOptions(flags: Arguments, { environment }: Terminal): Promise<ServeOptions> {
  if (flags.words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(flags.words[0])}`);
  const maxKeys = flags.text('max-keys');
  const grpcPort = flags.text('grpc-port');
  const target = await redisTarget(flags, environment);
  return {
    ...target,
    workers: readWorkers(flags.text('workers'), target !== undefined),
    paths: flags.texts('config'),
    requireRedis: flags.has('require-redis'),
    deadline: readDeadline(flags.text('deadline')),
    fallback: oneOf('fallback', flags.text('fallback'), SERVE_FLAGS.fallback.values),
    maxKeys: maxKeys === undefined ? undefined : wholeNumber('max-keys', maxKeys, [1, 1e9]),
    port: wholeNumber('port', flags.text('port') ?? '8080', [0, 65535]),
    grpcPort: grpcPort === undefined ? undefined : wholeNumber('grpc-port', grpcPort, [0, 65535]),
    socket: readSocket('socket', flags),
    grpcSocket: readSocket('grpc-socket', flags),
    grpc: readGrpc(flags),
    envoy: envoySettings(flags, environment),
    host: flags.text('host') ?? '127.0.0.1',
    allowedHosts: readHosts(flags.text('allowed-hosts')),
    ...(await tlsOptions(flags)),
    ...readProtection(flags, environment),
    logRequests: flags.has('log-requests'),
    logKeys: flags.has('log-keys'),
    hasLab: !flags.has('no-lab'),
    record: readRecord(flags),
    traces: readTraces(flags, environment),
    statsd: readStatsd(flags),
    json: flags.has('json'),
  };
}

/** Longer ones the system cuts off without a word. */
const LONGEST_SOCKET_PATH = 100;

function readSocket(flag: string, flags: Arguments): string | undefined {
  const path = flags.text(flag);
  if (path === undefined || (path !== '' && Buffer.byteLength(path) <= LONGEST_SOCKET_PATH)) return path;
  throw new UsageError(
    `--${flag}: expected a path of at most ${LONGEST_SOCKET_PATH} bytes, got ${JSON.stringify(path)}`,
  );
}

function readGrpc(flags: Arguments): ServeOptions['grpc'] {
  const concurrent = flags.text('grpc-max-concurrent-requests');
  return {
    connectionAge: {
      mostMs: readTime('grpc-max-connection-age', flags.text('grpc-max-connection-age') ?? '24h'),
      graceMs: readTime('grpc-max-connection-age-grace', flags.text('grpc-max-connection-age-grace') ?? '1m'),
    },
    maxConcurrent:
      concurrent === undefined ? undefined : wholeNumber('grpc-max-concurrent-requests', concurrent, [1, 1e6]),
  };
}

/** Milliseconds. */
function readTime(flag: string, text: string): number {
  try {
    return parseDuration(text as Duration, flag);
  } catch {
    throw new UsageError(`--${flag}: expected a time such as 30s, 5m or 24h, got ${JSON.stringify(text)}`);
  }
}

/** What is recorded of attempts, and how much of it. */
export type RecordOptions = Pick<RecorderOptions, 'file' | 'maxBytes' | 'maxFiles' | 'keys'>;

function readRecord(flags: Arguments): RecordOptions | undefined {
  const file = flags.text('record');
  const besides = ['record-size', 'record-files', 'record-keys'].find((flag) => flags.text(flag) !== undefined);
  if (file === undefined) {
    if (besides === undefined) return undefined;
    throw new UsageError(`--${besides}: expected --record FILE as well, got none`);
  }
  return {
    file,
    maxBytes: wholeNumber('record-size', flags.text('record-size') ?? '100', [1, 1e6]) * 2 ** 20,
    maxFiles: wholeNumber('record-files', flags.text('record-files') ?? '4', [0, 1000]),
    keys: oneOf('record-keys', flags.text('record-keys'), SERVE_FLAGS['record-keys'].values),
  };
}

function readTraces(flags: Arguments, environment: Terminal['environment']): TraceSettings | undefined {
  try {
    return readTraceSettings(environment, flags.text('otlp'));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readStatsd(flags: Arguments): StatsdSettings | undefined {
  const [address, tags] = [flags.text('statsd'), flags.has('statsd-tags')];
  if (address === undefined) {
    if (tags) throw new UsageError('--statsd-tags: expected --statsd HOST:PORT as well, got none');
    return undefined;
  }
  try {
    return parseStatsd(address, tags);
  } catch (error) {
    throw new UsageError(`--statsd: ${(error as Error).message}`);
  }
}

/** More share the work and not the limit: one Redis answers no more than so many can ask. */
const MOST_BY_ITSELF = 8;
const MOST_WORKERS = 64;

/** On memory there is one: each process would count alone. */
function readWorkers(text: string | undefined, isOnRedis: boolean): number {
  if (text === undefined || text === 'auto') return isOnRedis ? Math.min(availableParallelism(), MOST_BY_ITSELF) : 1;
  if (!/^\d/.test(text)) throw new UsageError(`--workers: expected auto or a number, got ${JSON.stringify(text)}`);
  const workers = wholeNumber('workers', text, [1, MOST_WORKERS]);
  if (workers === 1 || isOnRedis) return workers;
  throw new UsageError(
    `--workers ${workers}: without Redis each worker counts in its own memory, so ${workers} of them would allow ${workers} times each limit. ` +
      'Say where Redis is with --redis ADDRESS, or leave --workers out.',
  );
}

function envoySettings(flags: Arguments, environment: Terminal['environment']): EnvoySettings {
  try {
    const settings = readSettings(environment);
    return {
      ...settings,
      denied: oneOf('envoy-denied', flags.text('envoy-denied'), SERVE_FLAGS['envoy-denied'].values) ?? settings.denied,
      negativeHits:
        oneOf('envoy-negative-hits', flags.text('envoy-negative-hits'), SERVE_FLAGS['envoy-negative-hits'].values) ??
        settings.negativeHits,
    };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function readHosts(text = ''): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return names.filter(Boolean).map((name) => {
    if (/^(?:\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*)$/.test(name)) return name;
    const expected = 'names with commas between, such as limits.example.com,*.internal, without a port';
    throw new UsageError(`--allowed-hosts: expected ${expected}, got ${JSON.stringify(name)}`);
  });
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
  const protect = oneOf('protect', flags.text('protect'), SERVE_FLAGS.protect.values);
  if (protect !== undefined && token === undefined) {
    throw new UsageError(`--protect ${protect}: expected --token as well, got none`);
  }
  return { token, protect };
}
