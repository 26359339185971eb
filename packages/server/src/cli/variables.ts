/** Variables of the environment that begin like ours and are none: a letter that was mistyped must not be a silent default. */
import { didYouMean } from './did-you-mean.ts';

/** Held against what the commands read by a test. */
export const VARIABLES = [
  ...['SLUICE_CONFIG', 'SLUICE_PORT', 'SLUICE_HOST', 'SLUICE_ALLOWED_HOSTS', 'SLUICE_GRPC_PORT', 'SLUICE_SERVER'],
  ...['SLUICE_REDIS', 'SLUICE_REDIS_PASSWORD', 'SLUICE_REDIS_SENTINEL_PASSWORD', 'SLUICE_REQUIRE_REDIS'],
  ...['SLUICE_REDIS_CA', 'SLUICE_REDIS_CERT', 'SLUICE_REDIS_KEY', 'SLUICE_PREFIX', 'SLUICE_HASH_KEYS'],
  ...['SLUICE_DEADLINE', 'SLUICE_FALLBACK', 'SLUICE_MAX_KEYS', 'SLUICE_TOKEN', 'SLUICE_PROTECT'],
  ...[
    'SLUICE_TLS_CERT',
    'SLUICE_TLS_KEY',
    'SLUICE_TLS_CLIENT_CA',
    'SLUICE_LOG_REQUESTS',
    'SLUICE_LOG_KEYS',
    'SLUICE_NO_LAB',
    'SLUICE_WORKERS',
    'SLUICE_RECORD',
    'SLUICE_RECORD_SIZE',
    'SLUICE_RECORD_FILES',
    'SLUICE_RECORD_KEYS',
  ],
  ...['SLUICE_SOCKET', 'SLUICE_GRPC_SOCKET', 'SLUICE_GRPC_MAX_CONNECTION_AGE', 'SLUICE_GRPC_MAX_CONNECTION_AGE_GRACE'],
  ...['SLUICE_GRPC_MAX_CONCURRENT_REQUESTS'],
  ...['SLUICE_STATSD', 'SLUICE_STATSD_TAGS'],
  ...['SLUICE_ENVOY_DENIED', 'SLUICE_ENVOY_NEGATIVE_HITS'],
];

/** Of our own tests, and of the gateways in examples. */
const ELSEWHERE = ['SLUICE_SEED', 'SLUICE_UPDATE_PAGES', 'SLUICE_WHEN_AWAY'];

/** Kubernetes tells every container of services in its namespace, one named `sluice` among them, in variables of these forms. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP)(?:_\w+)?$/;
const LINK = /^(?:tcp|udp):\/\//;

type Environment = Readonly<Record<string, string | undefined>>;

/** A sentence for each. */
export function unknownVariables(environment: Environment): readonly string[] {
  const names = Object.keys(environment).filter((name) => name.startsWith('SLUICE_') && !VARIABLES.includes(name));
  const unknown = names.filter((name) => !ELSEWHERE.includes(name) && !OF_KUBERNETES.test(name));
  return unknown
    .filter((name) => !LINK.test(environment[name] ?? ''))
    .map((name) => `The unknown variable ${name} is ignored.${didYouMean(name, VARIABLES)}`);
}

/** SLUICE_PORT is tcp://10.0.0.1:8080 where Kubernetes has a service of this name: that is not meant. */
export function withoutLinks(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !(/^SLUICE_\w*PORT$/.test(name) && LINK.test(value ?? ''))),
  );
}
