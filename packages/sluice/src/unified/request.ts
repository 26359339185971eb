/** What `checkAndConsume` is called with: read by both spellings of each name, checked, and filled with defaults. */
import { didYouMean } from '../model/did-you-mean.ts';
import { SluiceError } from '../model/errors.ts';
import { algorithmOf, type Numbers, type UnifiedAlgorithm, type UnifiedAlgorithmName } from './algorithms.ts';

/** One attempt: who, by which algorithm, with which numbers. Numbers that an algorithm does not use are checked and left alone. */
export interface UnifiedRequest {
  /** Who is limited: `'user:42'`. */
  readonly key: string;
  /** `'token_bucket'`, `'fixed_window'`, `'sliding_window_log'`, ... Hyphens are fine, too. */
  readonly algorithm: UnifiedAlgorithmName;
  /** Units in a window. Default: `capacity`. */
  readonly limit?: number | undefined;
  /** Default: 60. */
  readonly windowSeconds?: number | undefined;
  /** Units that a bucket holds, and that GCRA allows at the same time. Default: `limit`. */
  readonly capacity?: number | undefined;
  /** Of a token bucket, in units a second. Default: `limit / windowSeconds`. */
  readonly refillRate?: number | undefined;
  /** Of a leaky bucket, in units a second. Default: `limit / windowSeconds`. */
  readonly drainRate?: number | undefined;
  /** Units that this attempt spends. 0 looks without spending. Default: 1. */
  readonly cost?: number | undefined;
  /** The same as `windowSeconds`. */
  readonly window_seconds?: number | undefined;
  /** The same as `refillRate`. */
  readonly refill_rate?: number | undefined;
  /** The same as `drainRate`. */
  readonly drain_rate?: number | undefined;
}

export interface ReadRequest {
  readonly key: string;
  readonly algorithm: UnifiedAlgorithm;
  readonly numbers: Numbers;
  readonly cost: number;
}

const SPELLINGS: Readonly<Record<string, string>> = {
  window_seconds: 'windowSeconds',
  refill_rate: 'refillRate',
  drain_rate: 'drainRate',
};
const NAMES = [
  ...['key', 'algorithm', 'limit', 'windowSeconds', 'capacity', 'refillRate', 'drainRate', 'cost'],
] as readonly string[];

const DEFAULT_WINDOW_SECONDS = 60;
/** A microsecond and a century. */
const [SHORTEST_SECONDS, LONGEST_SECONDS] = [1e-6, 36525 * 86400];
/** Units a second: more than is exact in a number. */
const FASTEST = Number.MAX_SAFE_INTEGER;

export function readRequest(request: unknown): ReadRequest {
  const given = byName(request);
  const key = checkKey(given.key);
  const algorithm = algorithmOf(given.algorithm);
  return { key, algorithm, numbers: numbersOf(given, algorithm), cost: checkCost(given.cost) };
}

type Given = Readonly<Record<string, unknown>>;

function byName(request: unknown): Given {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw mistake(
      '',
      "expected an object, as in checkAndConsume({ key: 'user:42', algorithm: 'token_bucket', limit: 100 }).",
    );
  }
  const given: Record<string, unknown> = {};
  for (const [written, value] of Object.entries(request)) {
    const name = Object.hasOwn(SPELLINGS, written) ? SPELLINGS[written]! : written;
    if (!NAMES.includes(name)) throw unknownName(written);
    if (value === undefined) continue;
    if (given[name] !== undefined) throw mistake(name, `give \`${name}\` once, not in two spellings.`);
    given[name] = value;
  }
  return given;
}

function unknownName(name: string): SluiceError {
  const meant = MEANT[name] ?? didYouMean(name, [...NAMES, ...Object.keys(SPELLINGS)]);
  const cure = meant === undefined ? `The fields are ${NAMES.join(', ')}.` : `Did you mean \`${meant}\`?`;
  return mistake(name, `unknown field \`${name}\`. ${cure}`);
}

/** Names that other limiters have for the same things. */
const MEANT: Readonly<Record<string, string>> = {
  max: 'limit',
  points: 'limit',
  tokens: 'cost',
  weight: 'cost',
  leakRate: 'drainRate',
  leak_rate: 'drain_rate',
  identifier: 'key',
  strategy: 'algorithm',
};

function numbersOf(given: Given, algorithm: UnifiedAlgorithm): Numbers {
  const windowSeconds = within(given, 'windowSeconds', SHORTEST_SECONDS, LONGEST_SECONDS) ?? DEFAULT_WINDOW_SECONDS;
  const [limit, capacity] = [count(given, 'limit'), count(given, 'capacity')];
  const most = limit ?? capacity;
  if (most === undefined) throw mistake('limit', `${algorithm} needs a \`limit\`, as in limit: 100.`);
  const size = capacity ?? most;
  // Slower than this, a bucket takes more than a century to be full again.
  const slowest = size / LONGEST_SECONDS;
  const rate = Math.min(most / windowSeconds, FASTEST);
  return {
    limit: most,
    windowSeconds,
    capacity: size,
    refillRate: within(given, 'refillRate', slowest, FASTEST) ?? rate,
    drainRate: within(given, 'drainRate', slowest, FASTEST) ?? rate,
  };
}

function count(given: Given, name: string): number | undefined {
  const value = given[name];
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1))
    return value as number | undefined;
  throw mistake(name, `\`${name}\` must be a whole number of at least 1, and it is ${described(value)}.`);
}

function within(given: Given, name: string, least: number, most: number): number | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  const range = typeof value === 'number' && value > 0 ? `from ${least} to ${most}` : 'above 0';
  throw mistake(name, `\`${name}\` must be a number ${range}, and it is ${described(value)}.`);
}

function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key;
  throw mistake('key', `\`key\` must say who is limited, as in key: 'user:42', and it is ${described(key)}.`);
}

function checkCost(cost: unknown = 1): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw mistake('cost', `\`cost\` must be a whole number of at least 0, and it is ${described(cost)}.`);
}

function described(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === '') return 'empty';
  return typeof value === 'number' ? String(value) : value === null ? 'null' : `a value of type ${typeof value}`;
}

function mistake(field: string, sentence: string): SluiceError {
  const path = field === '' ? 'checkAndConsume' : `checkAndConsume.${field}`;
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, message: `checkAndConsume: ${sentence}` });
}
