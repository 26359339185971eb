/**
 * Counts for statsd, over UDP: what was counted since the last time, added up in this process. So the number of datagrams depends on the number of
 * policies and not on the traffic, and a daemon that is away costs nothing.
 */
import { createSocket } from 'node:dgram';

/** It is plain data, so that it can go to other processes. */
export interface StatsdSettings {
  readonly host: string;
  readonly port: number;
  /** Names and values beside the metric, as DogStatsD and Telegraf have them, instead of in its name. */
  readonly tags: boolean;
}

/** One number with its labels. */
export interface StatsdMetric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What is counted is sent as the difference to the last time; a gauge as it is. */
  readonly kind: 'count' | 'gauge';
  readonly value: number;
}

/** Throws with a sentence. */
export function parseStatsd(text: string, tags: boolean): StatsdSettings {
  const [, host, port] = /^(\[[\da-f:.]+\]|[^\s:[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host !== undefined && Number(port) > 0 && Number(port) < 65_536) {
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), tags };
  }
  throw new Error(`expected HOST:PORT, such as localhost:8125, got ${JSON.stringify(text)}`);
}

/** What every network carries in one piece. */
const MOST_BYTES = 1432;
const INTERVAL_MS = 1000;

export interface Statsd {
  /** Sends what was counted until now, and ends. */
  close(): Promise<void>;
}

/** `onProblem` is called once, when the host is not known or the like. */
export function startStatsd(
  settings: StatsdSettings,
  read: () => Promise<readonly StatsdMetric[]>,
  onProblem: (error: Error) => void,
): Statsd {
  const socket = createSocket(settings.host.includes(':') ? 'udp6' : 'udp4').unref();
  const counted = new Map<string, number>();
  let hasFailed = false;
  const failed = (error: Error | null): void => {
    if (error === null || hasFailed) return;
    hasFailed = true;
    onProblem(error);
  };
  socket.on('error', failed);
  const flush = async (): Promise<void> => {
    const lines = (await read()).flatMap((metric) => lineOf(metric, settings.tags, counted));
    await Promise.all(
      datagrams(lines).map(
        (text) =>
          new Promise<void>((resolve) => {
            socket.send(text, settings.port, settings.host, (error) => {
              failed(error);
              resolve();
            });
          }),
      ),
    );
  };
  const timer = setInterval(() => void flush().catch(failed), INTERVAL_MS).unref();
  return {
    async close() {
      clearInterval(timer);
      await flush().catch(failed);
      socket.close();
    },
  };
}

/** None for a count that has not grown. */
function lineOf({ name, labels, kind, value }: StatsdMetric, tags: boolean, counted: Map<string, number>): string[] {
  const values = Object.entries(labels);
  const path = tags ? name : [name, ...values.map(([, text]) => plain(text))].join('.');
  const suffix =
    tags && values.length > 0 ? `|#${values.map(([label, text]) => `${label}:${plain(text)}`).join(',')}` : '';
  if (kind === 'gauge') return [`sluice.${path}:${value}|g${suffix}`];
  const key = `${path}${suffix}`;
  const grown = value - (counted.get(key) ?? 0);
  counted.set(key, value);
  return grown > 0 ? [`sluice.${path}:${grown}|c${suffix}`] : [];
}

/** What statsd would take for its own punctuation, and dots, which part names. */
function plain(text: string): string {
  return text.replace(/[^\w-]/g, '_');
}

export function datagrams(lines: readonly string[]): string[] {
  const all: string[] = [];
  for (const line of lines) {
    const last = all.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= MOST_BYTES) all[all.length - 1] = `${last}\n${line}`;
    else all.push(line);
  }
  return all;
}
