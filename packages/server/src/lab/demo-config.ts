/**
 * The algorithms of the demo routes by their names in the path, and their settings by the names tutorials use. Everything has a default,
 * nothing is guessed: a name that an algorithm does not have, and a value out of range, are refused by name.
 */
import { checkPolicy, type Policy } from 'sluice';
import { type Fields, isFields, kindOf } from '../files/fields.ts';
import { HttpError, invalidField } from '../service/http-error.ts';
import { MOST_SECONDS, recoverySeconds } from './recovery.ts';

type Read<T> = (value: unknown, path: string) => T;

/** What a demo session leaves behind must be small. */
const MOST_UNITS = 1_000_000;
const MOST_LOGGED = 10_000;
const LEAST = 0.001;

const wholeUpTo =
  (most: number): Read<number> =>
  (value, path) => {
    if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number;
    throw invalidField(path, `a whole number from 1 to ${most}`, kindOf(value));
  };

const numberUpTo =
  (most: number, what: string): Read<number> =>
  (value, path) => {
    if (typeof value === 'number' && value >= LEAST && value <= most) return value;
    throw invalidField(path, `${what} from ${LEAST} to ${most}`, kindOf(value));
  };

const units = wholeUpTo(MOST_UNITS);
const seconds = numberUpTo(MOST_SECONDS, 'a number of seconds');
const rate = numberUpTo(MOST_UNITS, 'a number of units a second');
const mode: Read<string> = (value, path) => {
  if (value === 'policing' || value === 'shaping') return value;
  throw invalidField(path, 'policing or shaping', kindOf(value));
};

/** Settings as they were read; a name that was not given has its default. */
type Settings = Readonly<Record<string, number | string | undefined>>;

interface DemoAlgorithm {
  readonly settings: Readonly<Record<string, Read<number | string>>>;
  readonly defaults: Settings;
  /** The setting to blame when it would take too long until everything has come back. */
  readonly slowest: string;
  policy(settings: Settings): object;
}

const windowed = (most: number): Omit<DemoAlgorithm, 'policy'> => ({
  settings: { maxRequests: wholeUpTo(most), windowSeconds: seconds },
  defaults: { maxRequests: 10, windowSeconds: 10 },
  slowest: 'windowSeconds',
});

const inWindow = ({ maxRequests, windowSeconds }: Settings) => ({
  limit: maxRequests,
  window: milliseconds(windowSeconds),
});

const ALGORITHMS: Readonly<Record<string, DemoAlgorithm>> = {
  'fixed-window': { ...windowed(MOST_UNITS), policy: inWindow },
  'sliding-window-log': { ...windowed(MOST_LOGGED), policy: inWindow },
  'sliding-window-counter': { ...windowed(MOST_UNITS), policy: inWindow },
  'token-bucket': {
    settings: { maxTokens: units, refillRate: rate },
    defaults: { maxTokens: 10, refillRate: 1 },
    slowest: 'refillRate',
    policy: ({ maxTokens, refillRate }) => ({ capacity: maxTokens, refillRate }),
  },
  'leaky-bucket': {
    settings: { capacity: units, leakRate: rate, mode },
    defaults: { capacity: 10, leakRate: 1, mode: 'policing' },
    slowest: 'leakRate',
    // Under a name of its own, so that one call can forget both.
    policy: (settings) => ({ ...settings, ...(settings.mode === 'shaping' ? { name: 'leaky-bucket-shaping' } : {}) }),
  },
  gcra: {
    settings: { maxRequests: units, windowSeconds: seconds, capacity: units },
    defaults: { maxRequests: 10, windowSeconds: 10 },
    slowest: 'capacity',
    policy: ({ maxRequests, windowSeconds, capacity }) => ({
      limit: maxRequests,
      period: milliseconds(windowSeconds),
      ...(capacity === undefined ? {} : { capacity }),
    }),
  },
};

/** The library counts whole microseconds. */
function milliseconds(inSeconds: unknown): number {
  return Math.round((inSeconds as number) * 1e6) / 1e3;
}

export const DEMO_ALGORITHMS: readonly string[] = Object.keys(ALGORITHMS);

/** Throws a 400 that names what is wrong: `algorithm`, `config`, or a setting such as `config.maxRequests`. */
export function demoPolicy(algorithm: string, config: unknown): Policy {
  const known = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm] : undefined;
  if (known === undefined) throw unknownAlgorithm(algorithm);
  const settings = { ...known.defaults, ...readSettings(config, known) };
  const policy = checkPolicy({ algorithm, name: algorithm, ...known.policy(settings) });
  const seconds = recoverySeconds(policy);
  if (seconds <= MOST_SECONDS) return policy;
  const expected = `a whole bucket to recover within ${MOST_SECONDS} seconds`;
  throw invalidField(`config.${known.slowest}`, expected, `${Math.round(seconds)} seconds`);
}

/** One for each state that a session can have: what a reset has to forget. The numbers do not matter for that. */
export const DEMO_POLICIES: readonly Policy[] = [
  ...DEMO_ALGORITHMS.map((algorithm) => demoPolicy(algorithm, {})),
  demoPolicy('leaky-bucket', { mode: 'shaping' }),
];

function unknownAlgorithm(algorithm: string): HttpError {
  const message = `algorithm: expected one of ${DEMO_ALGORITHMS.join(', ')}, got ${kindOf(algorithm)}`;
  return new HttpError(400, 'unknown_algorithm', message, { path: 'algorithm' });
}

function readSettings(config: unknown, { settings }: DemoAlgorithm): Settings {
  const fields: unknown = config === undefined ? {} : config;
  const names = Object.keys(settings).join(', ');
  if (!isFields(fields)) throw invalidField('config', `an object with any of ${names}`, kindOf(fields));
  return Object.fromEntries(Object.keys(fields).map((name) => [name, readSetting(name, fields, settings, names)]));
}

function readSetting(name: string, fields: Fields, settings: DemoAlgorithm['settings'], names: string) {
  const path = `config.${name.slice(0, 60)}`;
  const read = Object.hasOwn(settings, name) ? settings[name] : undefined;
  if (read === undefined) throw invalidField(path, `no such setting; there are ${names}`, kindOf(fields[name]));
  return read(fields[name], path);
}
