/** A server of several workers, and ways to reach one of them: a connection stays with the worker that took it. */
import { readFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { eventually, type ServingProcess } from './processes.ts';

export interface WorkerReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, each test says.
  readonly body: any;
}

/** One request. Without an agent it has a connection of its own. */
export function send(
  url: string,
  path: string,
  body?: unknown,
  { agent, headers = {} }: { agent?: Agent; headers?: Record<string, string> } = {},
): Promise<WorkerReply> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const asking = request(`${url}${path}`, { method, agent: agent ?? false, headers: { ...type, ...headers } });
    asking.on('error', reject);
    asking.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => {
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        const { statusCode: status = 0, headers: got } = response;
        resolve({ status, headers: got, text, body: isJson ? JSON.parse(text) : undefined });
      });
    });
    asking.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Somebody with one connection. */
export interface Visitor {
  readonly worker: number;
  send(path: string, body?: unknown, headers?: Record<string, string>): Promise<WorkerReply>;
  leave(): void;
}

/** Which worker has the connection it says itself. `policy` must have room. */
export async function visit({ url }: ServingProcess, policy: string): Promise<Visitor> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { body } = await send(url, '/healthz', undefined, { agent });
  await send(url, '/v1/attempt', { policy, key: 'visitors', cost: 1 }, { agent });
  return {
    worker: Number(body.worker),
    send: (path, content, headers) => send(url, path, content, headers === undefined ? { agent } : { agent, headers }),
    leave: () => agent.destroy(),
  };
}

/** One visitor of each worker. */
export async function visitAll(server: ServingProcess, policy: string, workers = 2): Promise<readonly Visitor[]> {
  const visitors = new Map<number, Visitor>();
  await eventually(
    async () => {
      const visitor = await visit(server, policy);
      if (visitors.has(visitor.worker)) visitor.leave();
      else visitors.set(visitor.worker, visitor);
      return visitors.size;
    },
    (size) => size === workers,
  );
  return [...visitors.values()];
}

/** The processes that it has started, oldest first. */
export function workersOf({ pid }: ServingProcess): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ').filter(Boolean).map(Number);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** What one line of the metrics says. */
export function valueIn(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}
