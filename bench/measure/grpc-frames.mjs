/**
 * ShouldRateLimit as bare frames of HTTP/2, from a process that does little else: a client library costs more than the server that is measured. Each call
 * is one HEADERS and one DATA frame, written beforehand but for the number of its stream; the answer is counted by its trailers.
 */
import { connect } from 'node:net';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, goaway: 7, window: 8 };
const FLAG = { endStream: 1, ack: 1, endHeaders: 4 };
const HEAD = 9;
const CODE_OK = Buffer.from([0x08, 1]);
/** Behind the five bytes in front of a message. */
const MESSAGE_AT = 5;

function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Each field as a literal that no table remembers; all of them are short. */
const literal = ([name, value]) =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

const HEADERS = Buffer.concat(
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    ':authority': 'ratelimit',
    te: 'trailers',
    'grpc-timeout': '500m',
    'content-type': 'application/grpc',
  }).map(literal),
);

const field = (number, bytes) => Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);

/** The question as it goes over the wire. All lengths are below 128. */
export function question(domain, key, value) {
  const entry = Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]);
  const message = Buffer.concat([field(1, Buffer.from(domain)), field(2, field(1, entry))]);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
}

/** Both frames of a call; the number of the stream is filled in. */
function callOf(message) {
  const headers = frame(TYPE.headers, FLAG.endHeaders, 0, HEADERS);
  return { bytes: Buffer.concat([headers, frame(TYPE.data, FLAG.endStream, 0, message)]), second: headers.length };
}

/** Calls `amount` times over `connections`, with `inFlight` calls at a time on each. Rejects when an answer is not OK. */
export async function frameLoad({ port, questions, connections, inFlight, amount }) {
  const calls = questions.map(callOf);
  const left = { calls: amount };
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, () => oneConnection({ port, calls, inFlight, left })));
  return { elapsedMs: performance.now() - start };
}

function oneConnection({ port, calls, inFlight, left }) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let [stream, open, rest] = [1, 0, Buffer.alloc(0)];
    const ask = () => {
      const pieces = [];
      while (open < inFlight && left.calls > 0) {
        const { bytes, second } = calls[left.calls % calls.length];
        const own = Buffer.from(bytes);
        own.writeUInt32BE(stream, 5);
        own.writeUInt32BE(stream, second + 5);
        pieces.push(own);
        [stream, open, left.calls] = [stream + 2, open + 1, left.calls - 1];
      }
      if (pieces.length > 0) socket.write(Buffer.concat(pieces));
      else if (open === 0) socket.end();
    };
    const took = (type, flags, payload) => {
      if (type === TYPE.headers && flags & FLAG.endStream) open -= 1;
      else if (type === TYPE.settings && !(flags & FLAG.ack)) socket.write(frame(TYPE.settings, FLAG.ack, 0));
      else if (type === TYPE.data && payload.length > 0 && payload.compare(CODE_OK, 0, 2, MESSAGE_AT, MESSAGE_AT + 2)) {
        socket.destroy(new Error('an answer was not OK'));
      } else if (type === TYPE.reset || type === TYPE.goaway) socket.destroy(new Error('the server gave up'));
    };
    socket.on('data', (piece) => {
      rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      let at = 0;
      while (rest.length - at >= HEAD) {
        const end = at + HEAD + rest.readUIntBE(at, 3);
        if (rest.length < end) break;
        took(rest[at + 3], rest[at + 4], rest.subarray(at + HEAD, end));
        at = end;
      }
      rest = rest.subarray(at);
      ask();
    });
    socket.once('error', reject).once('close', () => resolve());
    const window = Buffer.alloc(4);
    window.writeUInt32BE(2 ** 31 - 1 - 65_535);
    socket.write(Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0), frame(TYPE.window, 0, 0, window)]));
    ask();
  });
}
