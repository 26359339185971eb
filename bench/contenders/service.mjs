/**
 * The service on its memory store, and the same server answering a constant: over HTTP a route in the same process that reads the same body and
 * sends an answer of the same length, over gRPC the same method of the same server with an answer that is there already.
 */
import { createService, Metrics, openStore, readConfig } from '@sluice/server';
import { createEnvoyServer } from '../../packages/server/dist/envoy/grpc/server.js';
import { readJson } from '../../packages/server/dist/service/read-body.js';
import { HOT_KEY_LIMIT } from './policies.mjs';

export const USERS = 100;
export const BATCH = 100;
const POLICY = 'api';
const DOMAIN = 'bench';

const CONFIG = `policies: { ${POLICY}: { algorithm: gcra, limit: ${HOT_KEY_LIMIT}, period: 1d, capacity: ${HOT_KEY_LIMIT} } }`;
const ENVOY_CONFIG = `
domain: ${DOMAIN}
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: ${HOT_KEY_LIMIT} }
`;

const item = (user) => ({ policy: POLICY, key: `user-${user}` });
const eachUser = (make) => Array.from({ length: USERS }, (_, user) => make(user));
const post = (path, body) => ({ method: 'POST', path, body: JSON.stringify(body) });
const descriptor = (user) => ({ domain: DOMAIN, descriptors: [{ entries: [{ key: 'user', value: `user-${user}` }] }] });

/** What is asked in turn, of which port, and how many attempts are in one of them. */
export const VARIANTS = {
  'HTTP, constant': { port: 'http', requests: eachUser((user) => post('/constant', item(user))), floor: true },
  'HTTP, /v1/attempt': {
    port: 'http',
    requests: eachUser((user) => post('/v1/attempt', item(user))),
    against: 'HTTP, constant',
  },
  'HTTP, /v1/check/NAME': {
    port: 'http',
    requests: eachUser((user) => ({ method: 'GET', path: `/v1/check/${POLICY}?key=user-${user}` })),
    against: 'HTTP, constant',
  },
  [`HTTP, /v1/attempt, ${BATCH} in a list`]: {
    port: 'http',
    requests: [
      post(
        '/v1/attempt',
        Array.from({ length: BATCH }, (_, user) => item(user)),
      ),
    ],
    attempts: BATCH,
    against: 'HTTP, constant',
  },
  'gRPC, constant': { port: 'grpcConstant', messages: eachUser(descriptor), floor: true },
  'gRPC, ShouldRateLimit': { port: 'grpc', messages: eachUser(descriptor), against: 'gRPC, constant' },
};

const silent = { info() {}, warn() {}, error() {} };

async function serviceOf(text, beside) {
  const { config, problems } = readConfig(text);
  if (config === undefined) throw new Error(JSON.stringify(problems));
  const metrics = new Metrics();
  const store = await openStore({}, metrics, silent);
  return createService({ config, store, metrics, log: silent, beside });
}

/** As long as an answer to an attempt is. */
const ANSWER = `${JSON.stringify({
  allowed: true,
  ...{
    limit: HOT_KEY_LIMIT,
    remaining: HOT_KEY_LIMIT - 1,
    retryAfter: null,
    resetAfter: 0.00864,
    resetAt: 1794841807.269,
  },
  ...{ delay: null, policy: POLICY },
  decisions: [
    {
      ...{ policy: POLICY, allowed: true, limit: HOT_KEY_LIMIT, remaining: HOT_KEY_LIMIT - 1, retryAfter: null },
      ...{ resetAfter: 0.00864, resetAt: 1794841807.269, delay: null },
    },
  ],
  source: 'store',
})}\n`;

const CONSTANT_ROUTE = {
  methods: ['POST'],
  path: '/constant',
  access: 'open',
  async handle({ request }, { bodyLimits }) {
    await readJson(request, bodyLimits);
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body: ANSWER };
  },
};

const CONSTANT_RESPONSE = {
  overallCode: 'OK',
  statuses: [
    {
      code: 'OK',
      currentLimit: { requestsPerUnit: HOT_KEY_LIMIT, unit: 'DAY', name: '' },
      limitRemaining: HOT_KEY_LIMIT - 1,
      durationUntilReset: 3600,
    },
  ],
  responseHeadersToAdd: [],
  requestHeadersToAdd: [],
  dynamicMetadata: undefined,
};

/** Resolves to the ports. */
export async function startServices() {
  const http = await serviceOf(CONFIG, { routes: [CONSTANT_ROUTE], paths: {} });
  const envoy = await serviceOf(ENVOY_CONFIG);
  const constant = createEnvoyServer({
    answer: async () => CONSTANT_RESPONSE,
    guard() {},
    onError() {},
    isHealthy: async () => true,
  });
  return {
    http: (await http.listen(0, '127.0.0.1')).port,
    grpc: await envoy.listenGrpc(0, '127.0.0.1'),
    grpcConstant: await constant.listen({ port: 0, host: '127.0.0.1' }),
  };
}
