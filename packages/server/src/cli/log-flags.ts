/** The flags of `backtest` and `suggest` that say how logs are read, and the line that says how far the reading is. */
import { availableParallelism } from 'node:os';
import { fixedWindow } from 'sluice';
import { roughTime } from '../files/time-text.ts';
import type { LogOptions } from '../log-files/backtest.ts';
import type { Progress } from '../log-files/read-logs.ts';
import { parseKeyPlan } from '../logs/log-keys.ts';
import { type Arguments, type Flags, wholeNumber } from './command.ts';
import { type Terminal, UsageError } from './terminal.ts';

export const LOG_FLAGS = {
  format: { type: 'string' },
  field: { type: 'string', multiple: true },
  where: { type: 'string', multiple: true },
  key: { type: 'string' },
  cost: { type: 'string' },
  window: { type: 'string' },
  workers: { type: 'string' },
  json: { type: 'boolean' },
} as const satisfies Flags;

export const LOG_HELP = `  FILE             an access log, a folder of them, or - for standard input; plain or gzip; several are merged by time
  --format NAME    combined, common, vhost, traefik, traefik-json, caddy, envoy, istio, envoy-json, haproxy, alb, cloudfront, cloudflare,
                   sluice, json, csv, or the log_format of your server: '$remote_addr [$time_local] "$request" $http_x_api_key'.
                   By default the first lines tell the format
  --field NAME=X   what a field is called in the log: time=TIMESTAMP, ip=client.address; may be repeated
  --where NAME=X   only lines whose field has this value: policy=api, method=POST; may be repeated
  --key KEY        what identifies a client: ip (the default; for a recording of Sluice, its key), user, host, route, everyone or field:NAME;
                   'ip + route' is one client per pair, 'user | ip' takes the first that a line has
  --cost FIELDS    the cost of a request: a field, or several joined with +; by default every request costs 1
  --window TIME    how far out of order a line may be; 5m by default. The answer says how many lines were later
  --workers N      threads that read lines; by default one per core, at most 4, for files above 64 MB
  --json           the whole answer as JSON`;

/** Below this a thread takes longer to start than to read it all. */
export const LARGE_BYTES = 64 * 2 ** 20;
const MOST_WORKERS = 4;

export function logOptions(flags: Arguments): Omit<LogOptions, 'input'> {
  const workers = flags.text('workers');
  const key = flags.text('key') ?? 'ip';
  try {
    parseKeyPlan(key);
  } catch (error) {
    throw new UsageError(`--key: ${(error as Error).message}`);
  }
  return {
    key,
    format: flags.text('format'),
    fields: Object.fromEntries(flags.texts('field').map((text) => pairOf('field', text))),
    where: Object.fromEntries(flags.texts('where').map((text) => pairOf('where', text))),
    cost: flags
      .text('cost')
      ?.split('+')
      .map((name) => name.trim()),
    window: readWindow(flags.text('window')),
    workers: workers === undefined ? undefined : wholeNumber('workers', workers, [1, 64]),
  };
}

export function workersFor(bytes: number): number {
  return bytes > LARGE_BYTES ? Math.min(availableParallelism(), MOST_WORKERS) : 1;
}

function pairOf(flag: string, text: string): readonly [string, string] {
  const [, name, value] = /^(\w[\w.-]*)=(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(
      `--${flag}: expected NAME=VALUE, such as ${flag === 'field' ? 'time=TIMESTAMP' : 'policy=api'}, got ${JSON.stringify(text)}`,
    );
  }
  return [name, value];
}

/** As the library reads durations. */
function readWindow(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return fixedWindow({ limit: 1, window: text as '1m' }).window;
  } catch {
    throw new UsageError(`--window: expected a time such as 30s or 5m, got ${JSON.stringify(text)}`);
  }
}

/** How often the line is written. */
const EVERY_MS = 200;

/** Writes how far the reading is, where somebody looks. */
export function progressLine(terminal: Terminal, now: () => number = () => performance.now()) {
  const started = now();
  let last = started;
  let isShown = false;
  const { status } = terminal;
  return {
    onProgress(progress: Progress): void {
      if (status === undefined || now() - last < EVERY_MS) return;
      last = now();
      isShown = true;
      status.write(`\r\x1b[K${progressText(progress, (last - started) / 1e3)}`);
    },
    end(): void {
      if (isShown) status!.write('\r\x1b[K');
    },
  };
}

export function progressText({ lines, bytes, size }: Progress, seconds: number): string {
  const rate = `${(lines / 1e6).toFixed(1)} million lines, ${Math.round(lines / seconds / 1e3)} thousand a second`;
  if (size === undefined || size === 0) return rate;
  const left = bytes === 0 ? '' : `, ${roughTime((seconds / bytes) * (size - bytes))} left`;
  return `${Math.floor((bytes / size) * 100)} %, ${rate}${left}`;
}
