/** A server that has answered many calls over gRPC keeps little of what they left behind. A million of them are in bench/groups/envoy.mjs. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { serve } from '../processes.ts';
import { type Asked, grpcClient } from './support.ts';

const CALLS = 12_000;
const IN_FLIGHT = 64;
/** Without the flags of cli/heap.ts it is 130 and more. */
const MOST_MB = 105;

const config = fileURLToPath(new URL('../../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url));
const asked: Asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'api_key', value: 'many' }] }] };

test('12,000 calls', { timeout: 120_000 }, async () => {
  const server = await serve(['--config', config, '--grpc-port', '0', '--no-lab']);
  const client = grpcClient(Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(server.greeting)![1]));
  let left = CALLS;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (left-- > 0) await client.ask(asked);
    }),
  );
  const megabytes = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024;
  client.close();
  await server.stop();
  expect(megabytes).toBeLessThan(MOST_MB);
});
