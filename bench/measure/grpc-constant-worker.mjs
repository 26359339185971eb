/** A server of @grpc/grpc-js that answers ShouldRateLimit with a constant: what a call costs there before anything is decided. */
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { answerRequests } from './child.mjs';
import { processCpuMicros } from './cpu.mjs';

const FOLDER = fileURLToPath(new URL('../../packages/server/proto/', import.meta.url));
const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [FOLDER] });
const ANSWER = {
  overallCode: 1,
  statuses: [{ code: 1, currentLimit: { requestsPerUnit: 1000, unit: 4 }, limitRemaining: 999 }],
};

function listen() {
  const server = new Server();
  server.addService(definition['envoy.service.ratelimit.v3.RateLimitService'], {
    ShouldRateLimit: (_, answer) => answer(null, ANSWER),
  });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

answerRequests({ listen, cpu: processCpuMicros });
