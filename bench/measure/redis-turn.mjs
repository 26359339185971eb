/** One contender's turn at one Redis server: rates and latencies from the client, costs from the server. */
import { CLIENTS } from '../contenders/clients.mjs';
import { closedLoop } from './closed-loop.mjs';
import { serverCost } from './redis-server.mjs';

/** Opens each contender on a connection of its own. */
export async function openAll({ redis, client, contenders, ...options }) {
  const opened = new Map();
  for (const contender of contenders) {
    const connection = await CLIENTS[client].connect(redis.port);
    const check = await contender.open({ client, connection, ...options });
    opened.set(contender, { check, close: () => CLIENTS[client].close(connection) });
  }
  return opened;
}

export async function closeAll(opened) {
  for (const { close } of opened.values()) await close();
}

export async function closedLoopTurn({ redis, check, nextKey, inFlight, durationMs }) {
  const { result, cost } = await serverCost(redis, () => closedLoop({ check, nextKey, inFlight, durationMs }));
  const { checks, ...rates } = result;
  return {
    ...rates,
    cpuMicros: cost.cpuMicros / checks,
    scriptMicros: cost.scriptMicros / checks,
    scriptCalls: cost.scriptCalls / checks,
    commands: cost.commands / checks,
    inputBytes: cost.inputBytes / checks,
    outputBytes: cost.outputBytes / checks,
  };
}
