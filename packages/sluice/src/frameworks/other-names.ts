/** What people write who come from another package, or who leave out a pair of braces: the error names the option that is meant. */
import { SluiceError } from '../model/errors.ts';

const POLICY = "The limit is a policy, as in policy: slidingWindowCounter({ limit: 100, window: '1m' }).";
const ON_DENIED = 'Use `onDenied`: it may return a response of its own, { status, headers, body }.';
const HEADERS = "Use `headers`: 'both', 'draft', 'legacy' or 'none'.";
const COUNT_ONLY = 'Use `countOnly`, as in countOnly: ({ status }) => status >= 400.';
const FALLBACK = "It is an option of the store, as in redisStore(client, { fallback: 'allow' }).";

/** Options of express-rate-limit, @fastify/rate-limit, rate-limiter-flexible, @nestjs/throttler and hono-rate-limiter. */
const MEANT: Readonly<Record<string, string>> = {
  max: POLICY,
  limit: POLICY,
  window: POLICY,
  windowMs: POLICY,
  timeWindow: POLICY,
  ttl: POLICY,
  points: POLICY,
  duration: POLICY,
  keyGenerator: 'Use `key`, as in key: byIp(), or a function of the request.',
  getTracker: 'Use `key`, as in key: byIp(), or a function of the request.',
  handler: ON_DENIED,
  message: ON_DENIED,
  statusCode: ON_DENIED,
  errorResponseBuilder: ON_DENIED,
  standardHeaders: HEADERS,
  legacyHeaders: HEADERS,
  addHeaders: HEADERS,
  skipSuccessfulRequests: COUNT_ONLY,
  skipFailedRequests: COUNT_ONLY,
  allowList: 'Use `skip`, a function of the request.',
  skipIf: 'Use `skip`, a function of the request.',
  redis: 'Use `store`, as in store: redisStore(client).',
  storeClient: 'Use `store`, as in store: redisStore(client).',
  keyPrefix: 'It is an option of the store, as in redisStore(client, { prefix }).',
  prefix: 'It is an option of the store, as in redisStore(client, { prefix }).',
  passOnStoreError: FALLBACK,
  skipOnError: FALLBACK,
  insuranceLimiter: FALLBACK,
  trustProxy: 'It is an option of byIp, as in key: byIp({ trustedProxies: 1 }).',
  trustedProxies: 'It is an option of byIp, as in key: byIp({ trustedProxies: 1 }).',
};

export function refuseOtherNames(options: object, known: readonly string[], path: string): void {
  for (const name in options) {
    if (known.includes(name) || !Object.hasOwn(MEANT, name)) continue;
    throw mistake(`${path}.${name}`, `${path}: unknown option \`${name}\`. ${MEANT[name]}`);
  }
}

/** `rateLimit(limiter)` for `rateLimit({ limiter })`. */
export function refuseWithoutBraces(options: unknown, path: string): void {
  const given = nameOf(options);
  if (given === undefined) return;
  throw mistake(path, `${path}: expected options, got a ${given}. Write it in braces: { ${given} }.`);
}

function nameOf(value: unknown): string | undefined {
  const given = value as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof given?.attempt === 'function') return 'limiter';
  if (typeof given?.ask === 'function') return 'store';
  return typeof given?.algorithm === 'string' ? 'policy' : undefined;
}

/** An error that says a whole sentence. */
export function mistake(path: string, message: string): SluiceError {
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, message });
}
