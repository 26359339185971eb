/**
 * Lambda on this machine: a handler in a process of its own, run by AWS's runtime client for Node, which asks a runtime API for events and gives it answers,
 * as it does in the cloud; and before it an HTTP front of each kind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { installFolder } from '../runtimes/install-folder.ts';
import { answerOf, eventOf, type FrontKind, type FunctionAnswer, streamedAnswerOf } from './events.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const CLIENT = join(FOLDER, 'node_modules/aws-lambda-ric/bin/index.mjs');
const STREAMED = 'application/vnd.awslambda.http-integration-response';

/** Answers an event. */
export type Invoke = (event: object, kind: FrontKind) => Promise<FunctionAnswer>;

export interface RunningFunction {
  readonly invoke: Invoke;
  /** What it has printed so far. */
  printed(): string;
  stop(): Promise<void>;
}

export interface FunctionOptions {
  readonly folder: string;
  /** As in Lambda's settings: `index.handler`. */
  readonly handler: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export async function installLambda(): Promise<void> {
  await installFolder(FOLDER, "AWS's runtime client for Node, 4 MB on disk,", ['--ignore-scripts']);
}

export async function startFunction({ folder, handler, env = {} }: FunctionOptions): Promise<RunningFunction> {
  await installLambda();
  const api = new RuntimeApi();
  const address = await api.listen();
  const child = spawn(process.execPath, ['--require', join(FOLDER, 'native.cjs'), CLIENT, handler], {
    cwd: folder,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, ...env, LAMBDA_TASK_ROOT: folder },
      ...{ AWS_LAMBDA_RUNTIME_API: address, AWS_LAMBDA_NODEJS_USE_ALTERNATIVE_CLIENT_1: 'true' },
      ...{ AWS_LAMBDA_FUNCTION_NAME: 'function', AWS_LAMBDA_FUNCTION_VERSION: '$LATEST' },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (printed += String(piece)));
  child.once('exit', (code) => api.fail(new Error(`the function ended with ${code}:\n${printed}`)));
  return {
    invoke: async (event, kind) => api.invoke(event, kind),
    printed: () => printed,
    stop: () => stop(child, api),
  };
}

async function stop(child: ChildProcess, api: RuntimeApi): Promise<void> {
  child.removeAllListeners('exit');
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  await api.close();
}

interface Invocation {
  readonly id: string;
  readonly event: object;
  readonly kind: FrontKind;
  resolve(answer: FunctionAnswer): void;
  reject(error: Error): void;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html: one event at a time, as one execution environment is given them. */
class RuntimeApi {
  readonly #server: Server;
  readonly #waiting: Invocation[] = [];
  readonly #underway = new Map<string, Invocation>();
  #asking: ServerResponse | undefined;
  #invocations = 0;
  #failure: Error | undefined;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  invoke(event: object, kind: FrontKind): Promise<FunctionAnswer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#invocations += 1;
    const id = `invocation-${this.#invocations}`;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, event, kind, resolve, reject });
      this.#next();
    });
  }

  fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of [...this.#waiting, ...this.#underway.values()]) reject(error);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  #next(): void {
    const invocation = this.#asking === undefined ? undefined : this.#waiting.shift();
    if (invocation === undefined) return;
    this.#underway.set(invocation.id, invocation);
    this.#asking!.writeHead(200, {
      'Content-Type': 'application/json',
      'Lambda-Runtime-Aws-Request-Id': invocation.id,
      'Lambda-Runtime-Deadline-Ms': `${Date.now() + 60_000}`,
      'Lambda-Runtime-Invoked-Function-Arn': 'arn:aws:lambda:eu-west-1:123456789012:function:function',
    }).end(JSON.stringify(invocation.event));
    this.#asking = undefined;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/invocation/next')) {
      this.#asking = response;
      return this.#next();
    }
    const body = Buffer.from(await text(request));
    response.writeHead(202).end();
    const [, id = '', what] = /invocation\/([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? [];
    const invocation = this.#underway.get(id);
    this.#underway.delete(id);
    if (invocation === undefined) return this.fail(new Error(`the function does not start: ${body}`));
    if (what === 'error') invocation.reject(new Error(`the function failed: ${body}`));
    else if (request.headers['content-type'] === STREAMED) invocation.resolve(streamedAnswerOf(body));
    else invocation.resolve(answerOf(invocation.kind, JSON.parse(body.toString())));
  }
}

export interface RunningFront {
  readonly port: number;
  stop(): Promise<void>;
}

/** An HTTP server that calls a function for each request. `client` is the address that it sees, or says that it sees. */
export async function startFront(invoke: Invoke, kind: FrontKind, client = '127.0.0.1'): Promise<RunningFront> {
  const server = createServer(async (request, response) => {
    try {
      const { status, headers, body } = await invoke(eventOf(kind, request, await text(request), client), kind);
      response.writeHead(status, headers as Record<string, string | string[]>).end(body);
    } catch {
      response.writeHead(500).end();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
