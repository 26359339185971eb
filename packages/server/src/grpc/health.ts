/** `grpc.health.v1.Health`: whether the server is fit to be asked, asked once or watched. */
import { FRAME_ROOM, framed } from './messages-in.ts';
import { Reader, Writer } from './protobuf.ts';
import type { CallHandler, Method, OpenCall } from './server.ts';
import { GrpcError, STATUS } from './status.ts';

/** The numbers are those of the protocol. */
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

export interface Health {
  readonly methods: readonly (readonly [path: string, method: Method])[];
  /** Everyone who watches is told of a change. */
  set(isHealthy: boolean): void;
}

/** One state for all the names it is asked by. `''` is the whole server. */
export function healthOf(names: readonly string[]): Health {
  let status: number = SERVING;
  const watchers = new Map<OpenCall, string>();
  const statusOf = (name: string): number => (names.includes(name) ? status : SERVICE_UNKNOWN);
  const check: Method = {
    unary: {
      async answer(message) {
        const name = nameIn(message);
        if (!names.includes(name)) throw new GrpcError(STATUS.NOT_FOUND, 'there is no service of that name');
        return statusMessage(status);
      },
    },
  };
  const list: Method = { unary: { answer: async () => listMessage(names, status) } };
  const watch: Method = { stream: { open: (call) => watcher(call, watchers, statusOf) } };
  return {
    methods: [
      ['/grpc.health.v1.Health/Check', check],
      ['/grpc.health.v1.Health/List', list],
      ['/grpc.health.v1.Health/Watch', watch],
    ],
    set(isHealthy) {
      const next = isHealthy ? SERVING : NOT_SERVING;
      if (next === status) return;
      status = next;
      for (const [call, name] of watchers) if (names.includes(name)) call.send(statusMessage(status));
    },
  };
}

function watcher(call: OpenCall, watchers: Map<OpenCall, string>, statusOf: (name: string) => number): CallHandler {
  return {
    message(message) {
      if (watchers.has(call)) return;
      const name = nameIn(message);
      watchers.set(call, name);
      call.send(statusMessage(statusOf(name)));
    },
    ended() {
      if (!watchers.has(call)) call.fail(new GrpcError(STATUS.INTERNAL, 'the message did not come whole'));
    },
    closed: () => void watchers.delete(call),
  };
}

function nameIn(message: Buffer): string {
  const reader = new Reader(message);
  let name = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else reader.skip();
  }
  return name;
}

function statusMessage(status: number): Buffer {
  const writer = new Writer(FRAME_ROOM);
  writer.uint(1, status);
  return framed(writer.finish());
}

function listMessage(names: readonly string[], status: number): Buffer {
  const writer = new Writer(FRAME_ROOM);
  for (const name of names) {
    writer.message(
      1,
      (entry, key) => {
        entry.text(1, key);
        entry.message(2, (value, number) => value.uint(1, number), status);
      },
      name,
    );
  }
  return framed(writer.finish());
}
