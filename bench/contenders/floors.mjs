/** What the client and the server cost when nothing is decided: nobody who sends one command a check gets below. */
import { CLIENTS } from './clients.mjs';

const EMPTY_SCRIPT = 'return 1';

export const floorContenders = [
  {
    name: 'empty EVALSHA',
    kind: 'floor',
    async open({ client, connection }) {
      const sha = String(await CLIENTS[client].command(connection, 'SCRIPT', 'LOAD', EMPTY_SCRIPT));
      return (key) => CLIENTS[client].evalsha(connection, sha, key);
    },
  },
  {
    name: 'INCR',
    kind: 'floor',
    open: ({ client, connection }) => {
      const { incr } = CLIENTS[client];
      return (key) => incr(connection, `incr:${key}`);
    },
  },
  {
    name: 'PING',
    kind: 'floor',
    open: ({ client, connection }) => {
      const { ping } = CLIENTS[client];
      return () => ping(connection);
    },
  },
];

/** An empty script through redis-benchmark, on one connection with so many in a pipeline: no JavaScript at all. */
export const redisBenchmarkArguments = ({ port, sha, inFlight, requests }) => [
  ...['-h', '127.0.0.1', '-p', String(port), '-c', '1', '-P', String(inFlight), '-n', String(requests), '--csv'],
  ...['EVALSHA', sha, '1', 'user:100000'],
];
