/** Contenders on one Redis server, in a process of their own, so that what the client costs can be told. */
import { CLIENTS } from '../contenders/clients.mjs';
import { redisContender } from '../contenders/redis.mjs';
import { answerRequests } from './child.mjs';
import { closedLoop, keySequence, runAll } from './closed-loop.mjs';
import { processCpuMicros } from './cpu.mjs';

const checks = new Map();

/** Each on a connection of its own. */
async function open({ client, port, names, limit }) {
  for (const name of names) {
    const connection = await CLIENTS[client].connect(port);
    checks.set(name, await redisContender(name).open({ client, connection, limit }));
  }
}

async function run({ name, keys, start, inFlight, durationMs }) {
  const before = processCpuMicros();
  const nextKey = keySequence(keys, start);
  const result = await closedLoop({ check: checks.get(name), nextKey, inFlight, durationMs });
  return { ...result, clientMicros: (processCpuMicros() - before) / result.checks };
}

const fill = ({ name, count, inFlight }) =>
  runAll({ check: checks.get(name), count, keyOf: (index) => `user:${100_000 + index}`, inFlight });

answerRequests({ open, run, fill });
