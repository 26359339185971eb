/**
 * A policy is plain, serialisable data: the same object in code, in YAML, in the lab and in a simulation. It is checked
 * once, where it is defined, and frozen: a policy that exists is a policy that works. Durations are held as
 * milliseconds and rates as units a second.
 */
import type { Duration, Rate } from './duration.ts';
import { MAX_DURATION_MS, MS_PER_YEAR, parseDuration, parseRate } from './duration.ts';
import { Kind, SluiceError } from './errors.ts';

interface Named {
  /** Who this rule is, in results, headers and keys: printable ASCII, 1 to 64 characters. */
  readonly name: string;
}

export interface FixedWindowPolicy extends Named {
  readonly algorithm: 'fixed-window';
  readonly limit: number;
  readonly window: number;
  /** Windows start at whole multiples of `window` since the epoch, or at a key's first attempt. */
  readonly align: 'epoch' | 'first';
}

export interface SlidingWindowLogPolicy extends Named {
  readonly algorithm: 'sliding-window-log';
  readonly limit: number;
  readonly window: number;
}

export interface SlidingWindowCounterPolicy extends Named {
  readonly algorithm: 'sliding-window-counter';
  readonly limit: number;
  readonly window: number;
}

export interface TokenBucketPolicy extends Named {
  readonly algorithm: 'token-bucket';
  readonly capacity: number;
  readonly refillRate: number;
}

export interface LeakyBucketPolicy extends Named {
  readonly algorithm: 'leaky-bucket';
  readonly capacity: number;
  readonly leakRate: number;
  /** Policing refuses what does not fit; shaping books the next free slot and says how long to wait for it. */
  readonly mode: 'policing' | 'shaping';
}

export interface GcraPolicy extends Named {
  readonly algorithm: 'gcra';
  readonly limit: number;
  readonly period: number;
  readonly capacity: number;
}

export type Policy =
  | FixedWindowPolicy
  | SlidingWindowLogPolicy
  | SlidingWindowCounterPolicy
  | TokenBucketPolicy
  | LeakyBucketPolicy
  | GcraPolicy;

export type AlgorithmName = Policy['algorithm'];

interface OptionalName {
  /** Default: the algorithm's. */
  readonly name?: string | undefined;
}
export interface WindowOptions extends OptionalName {
  readonly limit: number;
  readonly window: Duration;
}
export interface FixedWindowOptions extends WindowOptions {
  readonly align?: 'epoch' | 'first' | undefined;
}
export interface TokenBucketOptions extends OptionalName {
  readonly capacity: number;
  readonly refillRate: Rate;
}
export interface LeakyBucketOptions extends OptionalName {
  readonly capacity: number;
  readonly leakRate: Rate;
  readonly mode?: 'policing' | 'shaping' | undefined;
}
export interface GcraOptions extends OptionalName {
  readonly limit: number;
  readonly period: Duration;
  /** Units that may come at once. Default: the limit. */
  readonly capacity?: number | undefined;
}

export const fixedWindow = (options: FixedWindowOptions): FixedWindowPolicy => define('fixed-window', options);
export const slidingWindowLog = (options: WindowOptions): SlidingWindowLogPolicy =>
  define('sliding-window-log', options);
export const slidingWindowCounter = (options: WindowOptions): SlidingWindowCounterPolicy =>
  define('sliding-window-counter', options);
export const tokenBucket = (options: TokenBucketOptions): TokenBucketPolicy => define('token-bucket', options);
export const leakyBucket = (options: LeakyBucketOptions): LeakyBucketPolicy => define('leaky-bucket', options);
export const gcra = (options: GcraOptions): GcraPolicy => define('gcra', options);

/** Fields by algorithm: how each is checked. The table is the whole grammar of policies. */
type FieldCheck = (value: unknown, path: string, fields: Readonly<Record<string, unknown>>) => unknown;

/** The log keeps one entry for each admission, so its limit is also its memory. */
const MAX_LOG_LIMIT = 10_000_000;

const limit: FieldCheck = (value, path) => checkLimit(value, path, Number.MAX_SAFE_INTEGER);
const logLimit: FieldCheck = (value, path) => checkLimit(value, path, MAX_LOG_LIMIT);

const GRAMMAR: Readonly<Record<AlgorithmName, Readonly<Record<string, FieldCheck>>>> = {
  'fixed-window': { limit, window: parseDuration, align: oneOf('epoch', 'first') },
  'sliding-window-log': { limit: logLimit, window: parseDuration },
  'sliding-window-counter': { limit, window: parseDuration },
  'token-bucket': { capacity: limit, refillRate: parseRate },
  'leaky-bucket': { capacity: limit, leakRate: parseRate, mode: oneOf('policing', 'shaping') },
  gcra: {
    limit,
    period: parseDuration,
    capacity: (value, path, fields) => limit(value === undefined ? fields.limit : value, path, fields),
  },
};

export const ALGORITHM_NAMES = Object.keys(GRAMMAR) as readonly AlgorithmName[];

/** Policies that went through `define`: they need no second look. */
const defined = new WeakSet<object>();

function define<P extends Policy>(algorithm: P['algorithm'], options: object): P {
  return build(algorithm, options, camelCase(algorithm)) as P;
}

/** Checks a policy that came as data (JSON, YAML, another module) and returns it as if it had been defined in code. */
export function checkPolicy(value: unknown, path = 'policy'): Policy {
  if (isObject(value) && defined.has(value)) return value as unknown as Policy;
  const { algorithm, ...options } = checkShape(value, path);
  return build(algorithm, options, path);
}

function checkShape(value: unknown, path: string): { readonly algorithm: AlgorithmName } {
  if (!isObject(value)) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path,
      expected: Array.isArray(value)
        ? 'one policy (several go into policies)'
        : 'a policy, as tokenBucket({ ... }) and its siblings make it',
      got: value,
    });
  }
  const { algorithm } = value;
  if (typeof algorithm !== 'string' || !Object.hasOwn(GRAMMAR, algorithm)) {
    throw new SluiceError({
      code: 'SLUICE_UNKNOWN_ALGORITHM',
      path: `${path}.algorithm`,
      expected: `one of ${ALGORITHM_NAMES.join(', ')}`,
      got: algorithm,
    });
  }
  return value as { readonly algorithm: AlgorithmName };
}

function build(algorithm: AlgorithmName, options: unknown, path: string): Policy {
  if (!isObject(options)) {
    throw new SluiceError({ code: 'SLUICE_INVALID_POLICY', path, expected: 'an object of options', got: options });
  }
  const grammar = GRAMMAR[algorithm];
  for (const field of Object.keys(options)) refuseUnknownField(field, options, grammar, path);
  const fields: Record<string, unknown> = {
    algorithm,
    name: checkName(options.name === undefined ? algorithm : options.name, `${path}.name`),
  };
  for (const [field, check] of Object.entries(grammar)) {
    fields[field] = check(options[field], `${path}.${field}`, fields);
  }
  const policy = Object.freeze(fields) as unknown as Policy;
  refuseEndlessMemory(policy, path);
  defined.add(policy);
  return policy;
}

/** Everything that is wrong with a policy that came as data, in the order in which `checkPolicy` looks; nothing when it takes it. */
export function policyMistakes(value: unknown, path = 'policy'): readonly SluiceError[] {
  const mistakes: SluiceError[] = [];
  const shape = noting(mistakes, () => checkShape(value, path));
  if (shape === undefined) return mistakes;
  const { algorithm, ...options } = shape as Readonly<Record<string, unknown>> & typeof shape;
  const grammar = GRAMMAR[algorithm];
  for (const field of Object.keys(options)) noting(mistakes, () => refuseUnknownField(field, options, grammar, path));
  if (options.name !== undefined) noting(mistakes, () => checkName(options.name, `${path}.name`));
  const fields: Record<string, unknown> = { algorithm };
  for (const [field, check] of Object.entries(grammar)) {
    // A wrong one stands for one that is right, so that a field that depends on it is not called wrong as well.
    fields[field] = noting(mistakes, () => check(options[field], `${path}.${field}`, fields)) ?? 1;
  }
  if (mistakes.length === 0) noting(mistakes, () => refuseEndlessMemory(fields as unknown as Policy, path));
  return mistakes;
}

function noting<T>(mistakes: SluiceError[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    mistakes.push(error);
    return undefined;
  }
}

/** A misspelt field must not become a silent default. */
function refuseUnknownField(
  field: string,
  options: Readonly<Record<string, unknown>>,
  grammar: object,
  path: string,
): void {
  if (field === 'name' || Object.hasOwn(grammar, field)) return;
  throw new SluiceError({
    code: 'SLUICE_INVALID_POLICY',
    path: `${path}.${field}`,
    expected: `no such field; there are name, ${Object.keys(grammar).join(', ')}`,
    got: Kind.of(options[field]),
  });
}

/** A bucket so slow that it would take more than a century to recover leaves the range of exact time. */
function refuseEndlessMemory(policy: Policy, path: string): void {
  const recoveryMs = recoveryTimeMs(policy);
  if (recoveryMs <= MAX_DURATION_MS) return;
  const field = ['refillRate', 'leakRate', 'limit'].find((name) => name in policy);
  throw new SluiceError({
    code: 'SLUICE_INVALID_RATE',
    path: `${path}.${field}`,
    expected: 'a rate that recovers the whole capacity within 100 years',
    got: new Kind(
      recoveryMs < 1e6 * MS_PER_YEAR ? `${Math.ceil(recoveryMs / MS_PER_YEAR)} years` : 'over a million years',
    ),
  });
}

/** In which time everything comes back: the window, or how long an empty bucket takes to be as good as new. */
export function recoveryTimeMs(policy: Policy): number {
  switch (policy.algorithm) {
    case 'token-bucket':
      return (policy.capacity / policy.refillRate) * 1e3;
    case 'leaky-bucket':
      return (policy.capacity / policy.leakRate) * 1e3;
    case 'gcra':
      return (policy.capacity * policy.period) / policy.limit;
    default:
      return policy.window;
  }
}

function checkLimit(value: unknown, path: string, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
  throw new SluiceError({
    code: 'SLUICE_INVALID_LIMIT',
    path,
    expected: `a whole number from 1 to ${max}`,
    got: value,
  });
}

function checkName(value: unknown, path: string): string {
  if (typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value)) return value;
  throw new SluiceError({
    code: 'SLUICE_INVALID_NAME',
    path,
    expected: 'a name of 1 to 64 printable ASCII characters (it appears in HTTP headers)',
    got: value,
  });
}

/** The first choice is the default. */
function oneOf(...choices: string[]): FieldCheck {
  return (value, path) => {
    if (value === undefined) return choices[0];
    if (typeof value === 'string' && choices.includes(value)) return value;
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path,
      expected: choices.map((choice) => `'${choice}'`).join(' or '),
      got: value,
    });
  };
}

function camelCase(algorithm: string): string {
  return algorithm.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** The most a policy can ever grant at one instant: its limit, or the capacity of a bucket and of GCRA. */
export function limitOf(policy: Policy): number {
  return 'capacity' in policy ? policy.capacity : policy.limit;
}

/**
 * Which state a policy reads and writes for a key. Policies of one name and one algorithm share it, whatever their
 * numbers, so that a limit can be raised or lowered while the state lives on.
 */
export function identityOf(policy: Policy): string {
  return `${algorithmCode(policy)}:${policy.name}`;
}

const CODES = {
  'fixed-window': 'f',
  'sliding-window-log': 'l',
  'sliding-window-counter': 'c',
  'token-bucket': 't',
  gcra: 'g',
} as const;

export type AlgorithmCode = 'f' | 'l' | 'c' | 't' | 'p' | 's' | 'g';

/** One letter for each kind of state; it names the state's format in Redis keys, so it never changes its meaning. */
export function algorithmCode(policy: Policy): AlgorithmCode {
  if (policy.algorithm === 'leaky-bucket') return policy.mode === 'shaping' ? 's' : 'p';
  return CODES[policy.algorithm];
}
