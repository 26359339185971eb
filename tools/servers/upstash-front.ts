/**
 * Upstash's REST API before a real Redis, as far as rate limiters use it: one command, or a pipeline, as JSON in a POST. It is what
 * `@upstash/redis` talks to in tests and benchmarks.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';

export interface RunningFront {
  readonly url: string;
  readonly token: string;
  /** Keeps requests waiting from now on, or answers them again. */
  hang(isHanging: boolean): void;
  /** How many requests have come. */
  requests(): number;
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

const TOKEN = 'secret';
/** Their own scripts begin with a line that only their servers know. */
const OWN_FLAGS = /^#!lua flags=allow-key-locking\n/;
const digest = (script: string): string => createHash('sha1').update(script).digest('hex');

export async function startUpstashFront(redisUrl: string): Promise<RunningFront> {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  const front = new Front(redis);
  const { port } = await front.listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    token: TOKEN,
    hang: (isHanging) => front.hang(isHanging),
    requests: () => front.requests,
    async stop() {
      await front.close();
      redis.disconnect();
    },
    async start() {
      if (redis.status === 'end') await redis.connect();
      await front.listen(port);
    },
  };
}

class Front {
  readonly #redis: Redis;
  readonly #plain = new Map<string, string>();
  #server: Server | undefined;
  #goOn: (() => void) | undefined;
  #hanging: Promise<void> | undefined;
  requests = 0;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async listen(port: number): Promise<AddressInfo> {
    this.#server = createServer((request, response) => void this.#serve(request, response)).listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this.#server.address() as AddressInfo;
  }

  async close(): Promise<void> {
    this.hang(false);
    const server = this.#server!;
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  hang(isHanging: boolean): void {
    if (isHanging) {
      this.#hanging = new Promise((resolve) => {
        this.#goOn = resolve;
      });
    } else {
      this.#goOn?.();
      this.#hanging = undefined;
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    let text = '';
    for await (const chunk of request) text += String(chunk);
    await this.#hanging;
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return reply(401, { error: 'WRONGPASS invalid token' });
    const inBase64 = request.headers['upstash-encoding'] === 'base64';
    const body = JSON.parse(text);
    if (request.url === '/pipeline') {
      const answers = await Promise.all((body as string[][]).map((command) => this.#run(command, inBase64)));
      return reply(200, answers);
    }
    const answer = await this.#run(body, inBase64);
    reply('error' in answer ? 400 : 200, answer);
  }

  async #run(command: readonly unknown[], inBase64: boolean): Promise<{ result: unknown } | { error: string }> {
    try {
      const [name = '', ...args] = this.#translated(command.map(String));
      const result = await this.#redis.call(name, ...args);
      return { result: inBase64 ? encoded(result) : result };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  #translated(words: string[]): string[] {
    const [name = '', script = '', ...rest] = words;
    if (/^eval$/i.test(name) && OWN_FLAGS.test(script)) {
      const plain = script.replace(OWN_FLAGS, '');
      this.#plain.set(digest(script), digest(plain));
      return [name, plain, ...rest];
    }
    return /^evalsha$/i.test(name) ? [name, this.#plain.get(script) ?? script, ...rest] : words;
  }
}

function encoded(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(encoded);
  return typeof result === 'string' && result !== 'OK' ? Buffer.from(result).toString('base64') : result;
}
