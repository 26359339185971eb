/** Policies that came as data: JSON, YAML, a form, another process. The only place that knows every algorithm. */
import { Kind, SluiceError, wrong } from '../model/errors.ts';
import { define, hasRule, invalidPolicy, isObject, type Policy } from '../model/policy.ts';
import type { Algorithm } from '../model/rule.ts';
import { ALGORITHMS } from './all.generated.ts';
import { FIXED } from './fixed.ts';

/** What `checkPolicy` takes besides the data. */
export interface CheckPolicyOptions {
  /** Algorithms of your own, made by `defineAlgorithm`, besides those of Sluice. */
  readonly algorithms?: readonly Algorithm[] | undefined;
}

/** The algorithms of Sluice, as they are declared: names, fields and what they mean. For tools that show or check policies. */
export const algorithms: readonly Algorithm[] = ALGORITHMS;

/**
 * Checks a policy that came as data and returns it as if it had been defined in code.
 *
 * @example
 * const policy = checkPolicy(JSON.parse('{ "algorithm": "gcra", "limit": 60, "period": "1m" }'));
 */
export function checkPolicy(value: unknown, path = 'policy', options: CheckPolicyOptions = {}): Policy {
  if (hasRule(value)) return value;
  const { algorithm, fields } = readShape(value, path, options);
  return define(algorithm, fields, path);
}

/** Everything that is wrong with a policy that came as data, in the order in which `checkPolicy` looks; nothing when it takes it. */
export function policyMistakes(
  value: unknown,
  path = 'policy',
  options: CheckPolicyOptions = {},
): readonly SluiceError[] {
  const mistakes: SluiceError[] = [];
  const note = (mistake: unknown): void => {
    if (!(mistake instanceof SluiceError)) throw mistake;
    if (!mistakes.includes(mistake)) mistakes.push(mistake);
  };
  try {
    const { algorithm, fields } = readShape(value, path, options);
    define(algorithm, fields, path, note);
  } catch (mistake) {
    // What is wrong in the whole only because a field is, was said already.
    if (mistakes.length === 0) note(mistake);
  }
  return mistakes;
}

interface Shape {
  readonly algorithm: Algorithm;
  readonly fields: Readonly<Record<string, unknown>>;
}

function readShape(value: unknown, path: string, { algorithms: own = [] }: CheckPolicyOptions): Shape {
  if (!isObject(value)) {
    const expected = Array.isArray(value)
      ? 'one policy (several go into policies)'
      : 'a policy, as tokenBucket({ ... }) and its siblings make it';
    throw invalidPolicy(path, expected, value);
  }
  const { algorithm: name, ...fields } = value;
  const all = [...ALGORITHMS, ...own];
  const algorithm = [...all, ...FIXED].find((known) => known.name === name);
  if (algorithm !== undefined) return { algorithm, fields };
  throw wrong(
    'SLUICE_UNKNOWN_ALGORITHM',
    `${path}.algorithm`,
    `one of ${all.map((known) => known.name).join(', ')}`,
    typeof name === 'object' ? Kind.of(name) : name,
  );
}
