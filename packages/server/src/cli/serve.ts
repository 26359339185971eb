/** `sluice serve`: the service as a process. */
import { once } from 'node:events';
import type { Duration } from 'sluice';
import { type Config, EMPTY_CONFIG } from '../config/config.ts';
import { policyText } from '../config/explain.ts';
import { jsonLog, type Log } from '../service/log.ts';
import { Metrics } from '../service/metrics.ts';
import { type Fallback, openStore } from '../service/open-store.ts';
import { createService, type Service } from '../service/service.ts';
import type { Protection } from '../service/token.ts';
import { type Watch, type Watching, watchConfig } from '../service/watch-config.ts';
import { type Arguments, type Command, parseArguments } from './command.ts';
import { requireConfig } from './config-file.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';

const FLAGS = {
  config: { type: 'string' },
  redis: { type: 'string' },
  prefix: { type: 'string' },
  deadline: { type: 'string' },
  fallback: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  token: { type: 'string' },
  protect: { type: 'string' },
  'log-requests': { type: 'boolean' },
} as const;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serves limits over HTTP.',
  help: `Usage: sluice serve [--config FILE] [--redis URL] [--port 8080] [--host 127.0.0.1]

  --config FILE       policies and rules; read again when it changes (SLUICE_CONFIG)
  --redis URL         where the state is kept; without it, in this process (SLUICE_REDIS)
  --prefix TEXT       what goes before every key on Redis; sluice by default
  --deadline TIME     how long Redis may take to answer; 50ms by default
  --fallback WHO      who answers when Redis does not: local (this process), allow or deny; local by default
  --port, --host      where to listen; 8080 on 127.0.0.1 by default (SLUICE_PORT, SLUICE_HOST)
  --token SECRET      a bearer token; better in the environment, where others do not see it (SLUICE_TOKEN)
  --protect WHAT      what needs the token: changes (refund, reset, block, unblock), or everything; changes by default
  --log-requests      a line in the log for each request

SIGTERM and SIGINT: takes nothing new, finishes what it has, ends. SIGHUP: reads the config now.
It listens on this machine alone unless --host says otherwise: with --host 0.0.0.0 set a token.

Examples:
  sluice serve
  sluice serve --config policies.yaml --redis redis://localhost:6379
  SLUICE_TOKEN=secret sluice serve --config policies.yaml --host 0.0.0.0 --protect everything`,
  async run(args, terminal) {
    const options = readOptions(parseArguments(args, FLAGS), terminal);
    const log = jsonLog((line) => terminal.error(line));
    const metrics = new Metrics();
    const { config, text } =
      options.file === undefined ? { config: EMPTY_CONFIG, text: '' } : await requireConfig(options.file);
    const store = await openStore(options, metrics, log);
    const service = createService({ ...options, config, store, metrics, log });
    const { port } = await service.listen(options.port, options.host).catch(async (error) => {
      await store.close();
      throw error;
    });
    terminal.out(greeting(`http://${urlHost(options.host)}:${port}`, store.description, config));
    const watch =
      options.file === undefined ? undefined : watching({ file: options.file, text }, service, metrics, log);
    await ended(watch);
    log.info('draining');
    watch?.stop();
    await service.drain(DRAIN_TIMEOUT_MS);
    log.info('ended');
    return EXIT.ok;
  },
};

const DRAIN_TIMEOUT_MS = 10_000;

interface ServeOptions {
  readonly file: string | undefined;
  readonly redis: string | undefined;
  readonly prefix: string | undefined;
  readonly deadline: Duration | undefined;
  readonly fallback: Fallback | undefined;
  readonly port: number;
  readonly host: string;
  readonly token: string | undefined;
  readonly protect: Protection | undefined;
  readonly logRequests: boolean;
}

function readOptions(flags: Arguments, { environment }: Terminal): ServeOptions {
  if (flags.words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(flags.words[0])}`);
  return {
    file: flags.text('config') ?? environment.SLUICE_CONFIG,
    redis: flags.text('redis') ?? environment.SLUICE_REDIS,
    prefix: flags.text('prefix'),
    deadline: flags.text('deadline') as Duration | undefined,
    fallback: oneOf('--fallback', flags.text('fallback'), ['local', 'allow', 'deny']),
    port: readPort(flags.text('port') ?? environment.SLUICE_PORT ?? '8080'),
    host: flags.text('host') ?? environment.SLUICE_HOST ?? '127.0.0.1',
    token: readToken(flags.text('token') ?? environment.SLUICE_TOKEN),
    protect: oneOf('--protect', flags.text('protect'), ['changes', 'everything']),
    logRequests: flags.has('log-requests'),
  };
}

function oneOf<Word extends string>(flag: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  if (value === undefined || words.includes(value as Word)) return value as Word | undefined;
  throw new UsageError(`${flag}: expected ${words.join(' or ')}, got ${JSON.stringify(value)}`);
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65535) return port;
  throw new UsageError(`--port: expected a number from 0 to 65535, got ${JSON.stringify(text)}`);
}

/** An empty one would be no protection that looks like one. */
function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^\S{1,1024}$/.test(token)) return token;
  throw new UsageError('--token: expected a text without spaces that is not empty');
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function greeting(url: string, where: string, { policies, rules }: Config): string {
  const named = [...policies.values()].map(({ name, policy, shadow }) => {
    return `  ${name}: ${policyText(policy)}${shadow ? ' (shadow)' : ''}`;
  });
  const limits = named.length === 0 ? ['  policies that come along with requests (no --config)'] : named;
  return [
    `Sluice listens on ${url}, its state is ${where}. It limits:`,
    ...limits,
    ...(rules.length === 0 ? [] : [`  by ${rules.length} rules at ${url}/v1/check`]),
  ].join('\n');
}

function watching(file: Pick<Watching, 'file' | 'text'>, service: Service, metrics: Metrics, log: Log): Watch {
  return watchConfig({
    ...file,
    onChange(config) {
      service.limits.replace(config);
      metrics.reloaded('applied');
      log.info('the config has changed', { policies: config.policies.size, rules: config.rules.length });
    },
    onProblems(lines) {
      metrics.reloaded('rejected');
      log.error('the changed config is not used, the old one holds', { problems: lines });
    },
  });
}

async function ended(watch: Watch | undefined): Promise<void> {
  const reload = (): void => void watch?.reload();
  process.on('SIGHUP', reload);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  process.off('SIGHUP', reload);
}
