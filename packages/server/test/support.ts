/** A service on a socket of its own, with a clock that stands still, and ways to ask it. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ManualClock, manualClock, memoryStore } from 'sluice';
import { readConfig } from '../src/config/read-config.ts';
import { jsonLog } from '../src/service/log.ts';
import { Metrics } from '../src/service/metrics.ts';
import { createService, type Service, type ServiceOptions } from '../src/service/service.ts';

export const CONFIG = `
trustedProxies: 1
policies:
  api: { algorithm: token-bucket, capacity: 10, refillRate: 1/s, plans: { pro: { capacity: 100 } } }
  daily: { algorithm: fixed-window, limit: 20, window: 1d, align: first }
  trial: { algorithm: fixed-window, limit: 1, window: 1m, align: first, shadow: true }
  shaped: { algorithm: leaky-bucket, capacity: 3, leakRate: 20/s, mode: shaping }
rules:
  - { name: health, match: { path: /health }, unlimited: true }
  - { name: uploads, match: { method: POST, path: /upload/** }, key: header:x-api-key, policy: daily, cost: 15 }
  - { name: all, key: header:x-api-key | ip, plan: header:x-plan, policy: api }
overrides:
  - { key: vip, policy: api, limits: { capacity: 1000 } }
`;

export interface RunningService {
  readonly url: string;
  readonly port: number;
  readonly service: Service;
  readonly clock: ManualClock;
  /** For another service over the same states. */
  readonly store: ServiceOptions['store'];
  readonly logs: Record<string, unknown>[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  stop(): Promise<void>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, each test says.
  readonly body: any;
}

export async function startService(options: Partial<ServiceOptions> = {}): Promise<RunningService> {
  const clock = manualClock(1_000_000);
  const logs: Record<string, unknown>[] = [];
  const store = options.store ?? memoryAt(clock);
  const service = createService({
    config: configOf(CONFIG),
    metrics: new Metrics(),
    log: jsonLog((line) => logs.push(JSON.parse(line))),
    ...options,
    store,
  });
  const { port } = await service.listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  return {
    ...{ url, port, service, clock, logs, store },
    post: (path, body, headers = {}) =>
      ask(url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers }),
    get: (path, headers = {}) => ask(url + path, { headers }),
    stop: () => service.drain(1000),
  };
}

export function configOf(text: string) {
  const { config, problems } = readConfig(text);
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return config;
}

export function memoryAt(clock: ManualClock): ServiceOptions['store'] {
  const store = memoryStore({ clock });
  return { store, description: 'test', failsClosed: false, isUp: async () => true, close: async () => {} };
}

export async function ask(url: string, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** What is really in use: after a collection, for which the flag is set here. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
