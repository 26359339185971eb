/** One HTTP server in a process of its own, at a port. */
import { once } from 'node:events';
import { makeServer } from '../contenders/middleware.mjs';
import { answerRequests } from './child.mjs';
import { processCpuMicros } from './cpu.mjs';

async function listen({ framework, variant }) {
  const server = await makeServer(framework, variant);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

answerRequests({ listen, cpu: processCpuMicros });
