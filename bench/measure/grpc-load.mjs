/** So many calls of ShouldRateLimit, so many of them at once, over a few connections. */
import { fileURLToPath } from 'node:url';
import { credentials, makeClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ascending, quantile } from './statistics.mjs';

const SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';
const FOLDER = fileURLToPath(new URL('../../packages/server/proto/', import.meta.url));
const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [FOLDER],
  enums: String,
  arrays: true,
});
const Client = makeClientConstructor(definition[SERVICE], SERVICE);

/** Each has a connection of its own. */
export function grpcClients(port, count) {
  return Array.from(
    { length: count },
    () => new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  );
}

export async function grpcLoad({ clients, messages, inFlight, amount }) {
  const latencies = [];
  const start = performance.now();
  let next = 0;
  const chain = async (_, index) => {
    const client = clients[index % clients.length];
    while (next < amount) {
      const message = messages[next++ % messages.length];
      const asked = performance.now();
      const { overallCode } = await call(client, message);
      if (overallCode !== 'OK') throw new Error(`${overallCode} for ${JSON.stringify(message)}`);
      latencies.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, chain));
  return { elapsedMs: performance.now() - start, p99Ms: quantile(ascending(latencies), 0.99) };
}

function call(client, message) {
  return new Promise((resolve, reject) => {
    client.ShouldRateLimit(message, (error, response) => (error ? reject(error) : resolve(response)));
  });
}
