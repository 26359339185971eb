/**
 * A policy is plain, serialisable data: the same object in code, in YAML, in the lab and in a simulation. It is checked once, where it is
 * defined, and frozen: a policy that exists is a policy that works. It carries its compiled rule where JSON, spreading and comparing do
 * not see it. Durations are held as milliseconds and rates as units a second.
 */
import { unknownName } from './did-you-mean.ts';
import { MAX_DURATION_MS, MICROS_PER_MS, MS_PER_YEAR } from './duration.ts';
import { Kind, mistaken, type SluiceError, wrong } from './errors.ts';
import { checkField, type Field } from './field.ts';
import { checkFlag } from './options.ts';
import { type Algorithm, Rule, type RuleParts } from './rule.ts';

/** Where a policy keeps its rule. Registered, so that two copies of this package in one process understand each other. */
const RULE: unique symbol = Symbol.for('sluice.rule.1');

/** One rule as data: an algorithm and its numbers. Made by `tokenBucket({ ... })` and its siblings, or by `checkPolicy(data)`. */
export interface Policy {
  readonly algorithm: string;
  /**
   * In results and headers: printable ASCII, 1 to 64 characters. A policy that was given a name keeps its state by that name, whatever
   * its numbers; one that was not is known by its algorithm and its numbers, and `name` is the algorithm's.
   */
  readonly name: string;
  /** False: it decides as others do, and headers and 429 bodies do not name it. */
  readonly visible?: false | undefined;
  readonly [RULE]: Rule;
}

/** What every policy function takes besides its own fields. */
export interface NameOption {
  /**
   * Keeps the state by this name, so that the numbers can change while the state lives on. Shown in results and headers. Default: the
   * policy is known by its algorithm and its numbers.
   */
  readonly name?: string | undefined;
  /** `false` keeps the policy out of headers and out of the body of a 429. It decides all the same. Default: true. */
  readonly visible?: boolean | undefined;
}

/** The compiled rule of a policy. Data that was never checked has none. */
export function ruleOf(policy: Policy): Rule {
  const rule = policy[RULE];
  if (rule === undefined) throw plainData('policy');
  return rule;
}

/** Whether a value is a policy that was checked, and not plain data that looks like one. */
export function hasRule(value: unknown): value is Policy {
  return typeof value === 'object' && value !== null && RULE in value;
}

/** What looks like a policy and was never checked. */
export function plainData(path: string): SluiceError {
  return mistaken(
    'SLUICE_INVALID_POLICY',
    path,
    `${path}: this is plain data, not a policy. Make it with tokenBucket({ ... }) or a similar function, or pass it to checkPolicy(data).`,
  );
}

/** Called with each mistake in a definition. Throwing ends the definition there. */
export type OnMistake = (mistake: SluiceError) => void;

const throwIt: OnMistake = (mistake) => {
  throw mistake;
};

/** Checks the options by the algorithm's declaration, and makes a policy of them. */
export function define<P extends Policy>(
  algorithm: Algorithm<P>,
  options: unknown,
  path: string = camelCase(algorithm.name),
  onMistake: OnMistake = throwIt,
): P {
  if (!isObject(options)) throw invalidPolicy(path, 'an object of options', options);
  const fields = checkFields(algorithm, options, path, onMistake);
  return policyOf(algorithm, fields, options as NameOption, path);
}

/** The checked fields, in the order of the declaration. */
function checkFields(
  algorithm: Algorithm,
  options: Readonly<Record<string, unknown>>,
  path: string,
  onMistake: OnMistake,
): Record<string, unknown> {
  const known = ['name', ...Object.keys(algorithm.fields), 'visible'];
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    onMistake(unknownName('SLUICE_INVALID_POLICY', path, 'field', name, known));
  }
  // A wrong one stands for one that is right, so that a field that depends on it is not called wrong as well.
  const read = (check: () => unknown): unknown => {
    try {
      return check();
    } catch (error) {
      onMistake(error as SluiceError);
      return 1;
    }
  };
  if (options.name !== undefined) read(() => checkName(options.name, `${path}.name`));
  read(() => checkFlag(options.visible, `${path}.visible`));
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(algorithm.fields)) {
    fields[name] = read(() => checkField(field, options[name], `${path}.${name}`, fields));
  }
  return fields;
}

/** `identity` is that of another policy whose state this one shares. */
function policyOf<P extends Policy>(
  algorithm: Algorithm<P>,
  fields: Readonly<Record<string, unknown>>,
  common: NameOption,
  path: string,
  identity?: string,
): P {
  const { name, visible } = common;
  const byName = name !== undefined;
  const shown = visible === false ? { visible } : {};
  const policy = { algorithm: algorithm.name, ...(byName ? { name } : {}), ...fields, ...shown } as unknown as P;
  if (!byName) Object.defineProperty(policy, 'name', { value: algorithm.name });
  const parts = algorithm.rule(policy, { byName });
  refuseEndlessMemory(parts.recovery, algorithm, path);
  const numbers = numbersOf(algorithm, fields);
  const code = parts.redis?.code ?? `(${algorithm.name})`;
  const own = identity ?? (byName ? `${code}:${name}` : code + numbers);
  const changed = (some: object): Policy => {
    const others = checkFields(algorithm, { ...fields, ...some }, path, throwIt);
    return policyOf(algorithm, others, common, path, own);
  };
  const value = new Rule(policy, own, numbers, parts, changed);
  return Object.freeze(Object.defineProperty(policy, RULE, { value }));
}

/** The same policy on the same state, with more data and other parts of its rule. */
export function extended<P extends Policy>(
  policy: P,
  data: object,
  parts: { readonly answers: RuleParts['answers'] | undefined },
): P {
  const inner = ruleOf(policy);
  const copy = { ...policy, ...data };
  if (!Object.hasOwn(copy, 'name')) Object.defineProperty(copy, 'name', { value: policy.name });
  const changed = (fields: Readonly<Record<string, unknown>>): Policy => extended(inner.changed(fields), data, parts);
  const value = new Rule(copy, inner.identity, inner.numbers, { ...inner, ...parts } as RuleParts, changed);
  return Object.freeze(Object.defineProperty(copy, RULE, { value }));
}

/** All fields as text. Short, because it stands in every key in Redis: what a field is by default is ''. */
function numbersOf({ fields: declared }: Algorithm, fields: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(fields).map(([name, value]) => {
    const field = declared[name]!;
    if (field.kind === 'choice') return value === field.of[0] ? '' : shortest(String(value), field.of);
    if (field.kind === 'count' && field.same !== undefined && value === fields[field.same]) return '';
    return typeof value === 'number' ? numberText(value, field.kind) : String(value ?? '');
  });
  return texts.join(',').replace(/,+$/, '');
}

/** As much of a word as tells it from the others. */
function shortest(word: string, among: readonly string[]): string {
  const isShared = (part: string): boolean => among.some((other) => other !== word && other.startsWith(part));
  let length = 1;
  while (length < word.length && isShared(word.slice(0, length))) length += 1;
  return word.slice(0, length);
}

/** Seconds of each. In capitals: small letters are digits. */
const PERIODS = { S: 1, M: 60, H: 3600, D: 86_400 };

/**
 * To the base of 36: a duration in whole days, hours, minutes or seconds, a rate as a whole number in one of these, anything else as it is. No two
 * numbers of a field have the same text.
 */
function numberText(value: number, kind: Field['kind']): string {
  const periods = Object.entries(PERIODS);
  if (kind === 'duration') {
    for (const [letter, seconds] of periods.reverse()) {
      const whole = value / (seconds * 1000);
      if (Number.isInteger(whole)) return whole.toString(36) + letter;
    }
  }
  if (kind === 'rate' && !Number.isInteger(value)) {
    for (const [letter, seconds] of periods) {
      const whole = Math.round(value * seconds);
      if (whole / seconds === value) return whole.toString(36) + letter;
    }
  }
  return Number.isInteger(value) ? value.toString(36) : `_${value}`;
}

/** A bucket so slow that it would take more than a century to recover leaves the range of exact time. */
function refuseEndlessMemory(recovery: number, algorithm: Algorithm, path: string): void {
  const recoveryMs = recovery / MICROS_PER_MS;
  if (recoveryMs <= MAX_DURATION_MS) return;
  const slow = Object.keys(algorithm.fields).find((name) => algorithm.fields[name]!.kind === 'rate');
  const field = slow ?? Object.keys(algorithm.fields)[0]!;
  const years = Math.ceil(recoveryMs / MS_PER_YEAR);
  throw wrong(
    'SLUICE_INVALID_RATE',
    `${path}.${field}`,
    'a rate that recovers the whole capacity within 100 years',
    new Kind(years < 1e6 ? `${years} years` : 'over a million years'),
  );
}

function checkName(value: unknown, path: string): string {
  if (typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value)) return value;
  throw wrong(
    'SLUICE_INVALID_NAME',
    path,
    'a name of 1 to 64 printable ASCII characters (it appears in HTTP headers)',
    value,
  );
}

export function invalidPolicy(path: string, expected: string, got: unknown): SluiceError {
  return wrong('SLUICE_INVALID_POLICY', path, expected, got);
}

function camelCase(algorithm: string): string {
  return algorithm.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}
