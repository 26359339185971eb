/**
 * What a middleware adds to the work of a request. All variants of a framework live in this one process and take turns many times a second,
 * and their connections are in memory: a real parser, a real framework, real responses, but no system calls. Those take ten times what a
 * middleware does and vary by more than all of it, as does the luck of one process against another.
 */
import { Duplex } from 'node:stream';
import { BODY, makeServer } from '../contenders/middleware.mjs';
import { answerRequests } from './child.mjs';
import { processCpuMicros } from './cpu.mjs';
import { interleave } from './rounds.mjs';

const CONNECTIONS = 4;
const CLIENTS = 100;
const REQUEST = Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n');

/** The socket of a server, whose other end is here. */
class Wire extends Duplex {
  remoteAddress = '';
  #answered;

  /** The address is made anew, as it is for each socket. */
  ask(client) {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.remoteAddress = `198.51.100.${client}`;
      this.push(REQUEST);
    });
  }

  _read() {}

  _write(chunk, _encoding, written) {
    this.#take(chunk);
    written();
  }

  _writev(chunks, written) {
    for (const { chunk } of chunks) this.#take(chunk);
    written();
  }

  #take(chunk) {
    if (chunk.includes(BODY)) this.#answered();
  }

  setTimeout() {
    return this;
  }

  setNoDelay() {
    return this;
  }

  setKeepAlive() {
    return this;
  }
}

async function wiresTo(framework, variant) {
  const server = await makeServer(framework, variant);
  // Its timers look for sockets that have been silent, and would close these between two turns.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  return Array.from({ length: CONNECTIONS }, () => {
    const wire = new Wire();
    server.emit('connection', wire);
    return wire;
  });
}

async function fire(wires, amount) {
  const before = processCpuMicros();
  let next = 0;
  await Promise.all(
    wires.map(async (wire) => {
      while (next < amount) await wire.ask(next++ % CLIENTS);
    }),
  );
  // Each turn clears away what it has made itself, or it would be the work of the next one.
  globalThis.gc({ type: 'minor' });
  return { cpuMicros: (processCpuMicros() - before) / amount };
}

const opened = new Map();

async function open({ framework, variants, warmUp }) {
  for (const variant of variants) opened.set(variant, await wiresTo(framework, variant));
  for (const wires of opened.values()) await fire(wires, warmUp);
}

const turns = async ({ rounds, requests }) => [
  ...(await interleave({
    rounds,
    contenders: [...opened.keys()],
    run: (variant) => fire(opened.get(variant), requests),
  })),
];

answerRequests({ open, turns });
