/**
 * A TCP connection that can be made bad on command: it stands between a client and a server, and holds back, delays or resets what
 * passes. What is held back is passed on in order later, or is lost with its connection: no byte is ever dropped out of the middle.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { HOST } from './launch.ts';
import type { Address } from './resp.ts';

export type Direction = 'requests' | 'replies';

export interface RunningProxy extends Address {
  /** Nothing goes this way any more, and nobody is told: connections stay open, also new ones. Without a direction: neither way. */
  hold(direction?: Direction): void;
  /** Each way takes so much longer. */
  delay(ms: number): void;
  /** Everything passes at once again, and first of all what was held back. */
  pass(): void;
  /** On the connections there are, nothing passes ever again, and nobody is told. New ones work. */
  abandon(): void;
  /** All connections end with a reset; what was held back for the clients is lost. New ones are accepted. */
  reset(): void;
  stop(): Promise<void>;
}

interface Lane {
  isAbandoned: boolean;
  pump(): void;
}

interface Weather {
  readonly held: Set<Direction>;
  delayMs: number;
}

export async function startProxy(target: Address): Promise<RunningProxy> {
  const weather: Weather = { held: new Set(), delayMs: 0 };
  const lanes = new Set<Lane>();
  const clients = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ ...target, noDelay: true });
    const both = [lane('requests', client, upstream, weather), lane('replies', upstream, client, weather)];
    for (const one of both) lanes.add(one);
    clients.add(client);
    client
      .on('error', () => undefined)
      .on('close', () => {
        clients.delete(client);
        for (const one of both) lanes.delete(one);
        // Not destroyed: what the client has sent before still arrives.
        upstream.end();
      });
    upstream.on('error', () => undefined).on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const { port } = server.address() as AddressInfo;

  return {
    host: HOST,
    port,
    hold(direction) {
      for (const one of direction === undefined ? (['requests', 'replies'] as const) : [direction])
        weather.held.add(one);
    },
    delay(ms) {
      weather.delayMs = ms;
    },
    pass() {
      weather.held.clear();
      weather.delayMs = 0;
      for (const one of lanes) one.pump();
    },
    abandon() {
      for (const one of lanes) one.isAbandoned = true;
    },
    reset() {
      for (const client of clients) client.resetAndDestroy();
    },
    async stop() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One direction of one connection. */
function lane(direction: Direction, from: Socket, to: Socket, weather: Weather): Lane {
  const waiting: { readonly dueAt: number; readonly chunk: Buffer }[] = [];
  const pump = (): void => {
    while (waiting.length > 0 && !one.isAbandoned && !weather.held.has(direction)) {
      const { dueAt, chunk } = waiting[0]!;
      const restMs = weather.delayMs === 0 ? 0 : dueAt - performance.now();
      if (restMs > 0) {
        setTimeout(pump, Math.ceil(restMs));
        return;
      }
      waiting.shift();
      if (to.writable) to.write(chunk);
    }
  };
  const one: Lane = { isAbandoned: false, pump };
  from.on('data', (chunk: Buffer) => {
    waiting.push({ dueAt: performance.now() + weather.delayMs, chunk });
    // Behind others that wait, it goes when they do.
    if (waiting.length === 1) pump();
  });
  return one;
}
